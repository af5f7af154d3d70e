// Several iterations of the loop around a vector loop become one, where what they read is the same or their
// sums keep the arithmetic units busy: a tile of a product, rows of a stencil, rows of a column sum. Neither
// reorders loops nor runs them in lanes.
//     for i: for j: c[i, j] -= c[i, k] * c[k, j]   →   for i0: for j: c[4 * i0, j] -= …; c[4 * i0 + 1, j] -=
//     …
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

void unroll_and_jam(LoopNest &nest, const Target &target);

}  // namespace kw
