// Step: chooses the loops to parallelize, from the outermost loops inwards, and the loops to vectorize, from
// the innermost loops outwards.
//     for i in serial(0, m): for j in serial(0, n): …
//       →   for i in parallel(0, m): for j in vector(0, n, vector_width=64): …
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

void vectorize_and_parallelize(LoopNest &nest, const Target &target);

/// Returns whether a loop has too little work for two threads in every call.
bool is_surely_short(const For &loop, const Target &target);

}  // namespace kw
