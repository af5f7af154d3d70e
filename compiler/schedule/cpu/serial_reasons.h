// Records the first reason why a loop is not parallelized or not vectorized. Only explanations ask for the
// reason, so the search for a witness may take its time.
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

/// Records why a loop is not parallelized. `block` is that of Parallel if the loop is vectorized, else 0.
void reject_parallel(LoopNest &nest, uint32_t loop, int64_t block, const Target &target);
void reject_vectorize(LoopNest &nest, uint32_t loop, const Target &target);

}  // namespace kw
