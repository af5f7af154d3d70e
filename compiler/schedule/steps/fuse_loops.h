// Neighbouring loops over the same range that share memory become one, so that what one leaves in registers
// or the nearest cache the other finds there; temporary arrays that only one iteration uses then become
// scalars.
//     for i: t[i] = a[i] * b[i]; for i: c[i] = t[i] + a[i]   →   for i: t = a[i] * b[i]; c[i] = t + a[i]
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void fuse_loops(LoopNest &nest);

}  // namespace kw
