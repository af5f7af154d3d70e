// Unrolls innermost serial loops with short bodies, so that one branch of the loop serves several iterations.
// The remainder stays a loop.
//     serial(0, n, 1)   →   serial(0, n, 1, unroll=4)
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func unroll_inner_loops(const Func &f, const Target &);

}  // namespace kw
