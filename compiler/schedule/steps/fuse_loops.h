// Fuses adjacent loops over the same range that share memory. The second loop then finds data of the first in
// registers or the L1 cache. Contracts temporary arrays to scalars if an iteration uses one element only.
//     for i: t[i] = a[i] * b[i]; for i: c[i] = t[i] + a[i]   →   for i: t = a[i] * b[i]; c[i] = t + a[i]
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void fuse_loops(LoopNest &nest);

}  // namespace kw
