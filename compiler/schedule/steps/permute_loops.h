// Permutes the loops of a nest for memory: the loop with unit stride becomes innermost. First distributes a
// body that has statements beside its loop. Keeps an outermost loop that threads can share, and loops that
// the user wants in order.
//     for j: for i: y[i, j] = x[i, j]   →   for i: for j: y[i, j] = x[i, j]
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void permute_loops(LoopNest &nest);

}  // namespace kw
