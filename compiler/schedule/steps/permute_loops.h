// Loops that stand directly in one another go where they suit memory: innermost the one whose elements lie
// side by side. A body with statements beside its loop is taken apart first. Never takes the outermost loop
// from the threads, and leaves loops alone that the user wants in order.
//     for j: for i: y[i, j] = x[i, j]   →   for i: for j: y[i, j] = x[i, j]
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

void permute_loops(LoopNest &nest, const Target &target);

}  // namespace kw
