// Records why a loop is not parallelized, or not vectorized: the first reason that applies. Only explanations
// ask for it, so it takes the time that a witness needs.
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

/// `block` as in Parallel: of a loop that is vectorized.
void reject_parallel(LoopNest &nest, uint32_t loop, int64_t block, const Target &target);
void reject_vectorize(LoopNest &nest, uint32_t loop, const Target &target);

}  // namespace kw
