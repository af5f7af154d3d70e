// Checks leave the loops they need not be in. What is known before the kernel begins is checked first:
//     for i in serial(0, n, 1):     for b in serial(0, n, 1024): for k in vector(…): bad |= idx[b+k] |
//     (m-1-idx[b+k])
//       check(idx[i] < m)       →                                if bad < 0: for k in …: check(idx[b+k] < m)
//       y[i] = x[idx[i]]          for i in serial(0, n, 1): y[i] = x[idx[i]]
// Does not move what a guard or a jump may pass by; a guard on scalars and sizes of the call moves along.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// Early are checks of index arrays that are arguments and never written, in loops with fixed bounds. Any
/// other that begins a loop's body and is the same in each iteration moves in front of that loop, and one of
/// a subscript that steps by 1 becomes two, of its first and last value. Extents are at least 1.
Func hoist_checks(const Func &f, const Target &target);

}  // namespace kw
