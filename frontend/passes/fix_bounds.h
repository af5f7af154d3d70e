// Names the bounds of loops that write what their bounds read. A loop evaluates its bounds once, and passes
// may write a bound again into the loop's body only when its value is the same there.
//
//   for i in serial(0, c[0], 1):        bound: i64 = c[0]
//     c[i] = 0                     →    for i in serial(0, bound, 1):
//                                         c[i] = 0
#pragma once

#include "ir/func.h"

namespace kw {

Func fix_bounds(const Func &f);

}  // namespace kw
