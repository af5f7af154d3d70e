// The last choice of a schedule: which loops run on several threads, and which run their iterations side by
// side in vector registers. Takes the order of the loops as it finds it.
//     for i in serial(0, m): for j in serial(0, n): …   →   for i in parallel(0, m): for j in vector(0, n,
//     vector_width=64): …
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func vectorize_and_parallelize(const Func &f, const Target &target);

/// True when all that a loop does is known to be too little for two threads, whatever the call.
bool is_surely_short(const For &loop, const Target &target);

}  // namespace kw
