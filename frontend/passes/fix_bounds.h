// Names the bounds of loops that write memory that their bounds read. A loop evaluates its bounds once, and
// passes may copy a bound into the loop's body only if its value is unchanged there.
//
//   for i in serial(0, c[0], 1):        bound: i64 = c[0]
//     c[i] = 0                     →    for i in serial(0, bound, 1):
//                                         c[i] = 0
#pragma once

#include "ir/func.h"

namespace kw {

Func fix_bounds(const Func &f);

}  // namespace kw
