// debug=True: an element that is read before it is written ends the kernel (E310). Each buffer for which the
// initialisation analysis cannot exclude that gets a shadow of one truth value per element:
//     c[i] = c[i] + a[i]   →   check((-1 if c_1[i] else i) < 0, site=0)
//                              c[i] = c[i] + a[i]
//                              c_1[i] = True
// Adds no bounds checks: it stands behind check_all_bounds, whose checks come first.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func track_writes(const Func &f, const Target &target);

}  // namespace kw
