// For debug=True: ends the kernel (E310) if an element is read before it is written. Each buffer for which
// analysis/init cannot exclude that gets a shadow with one flag per element:
//     c[i] = c[i] + a[i]   →   check((-1 if c_1[i] else i) < 0, site=0)
//                              c[i] = c[i] + a[i]
//                              c_1[i] = True
// Adds no bounds checks: check_all_bounds runs before it.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func track_writes(const Func &f, const Target &target);

}  // namespace kw
