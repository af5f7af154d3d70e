// Unrolls and jams the loop around a vector loop if the copies share loads, or if more independent sums keep
// the arithmetic units busy. Examples are tiles of a product and rows of a stencil or of a column sum.
// Neither permutes nor vectorizes loops.
//     for i: for j: c[i, j] -= c[i, k] * c[k, j]
//       →   for i0: for j: c[4 * i0, j] -= …; c[4 * i0 + 1, j] -= …; …
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

void unroll_and_jam(LoopNest &nest, const Target &target);

}  // namespace kw
