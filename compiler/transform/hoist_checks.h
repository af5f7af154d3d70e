// Hoists checks out of loops. A check that needs only arguments runs before the loops of the kernel:
//     for i: check(idx[i] < m); y[i] = x[idx[i]]
//       →   for b: for k in vector: bad |= …;  if bad < 0: for k: check(idx[b + k] < m)
//           for i: y[i] = x[idx[i]]
// Does not hoist a check past a jump or a guard that may skip it. A guard on scalars and sizes of the call is
// the exception: it moves with the check.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// Runs checks of index arrays before the kernel if these are arguments, never written, and the loops have
/// fixed bounds. Moves any other check at the start of a loop's body in front of the loop if it is invariant.
/// If its subscript steps by 1, checks the first and the last value instead. Assumes extents of at least 1.
Func hoist_checks(const Func &f, const Target &target);

}  // namespace kw
