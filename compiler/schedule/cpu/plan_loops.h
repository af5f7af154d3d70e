// Step: how vector loops and parallel loops run, once their kinds are chosen: tails, streams, prefetches,
// register transposes, versions for assumed row lengths, rows that are flattened, loops that threads share.
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

void plan_loops(LoopNest &nest, const Target &target);

}  // namespace kw
