// Step: chooses how vector loops and parallel loops run, after their kinds are chosen. Sets tails, streams,
// prefetches, register transposes, versions for assumed row lengths, flattened rows and collapsed loops.
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

void plan_loops(LoopNest &nest, const Target &target);

}  // namespace kw
