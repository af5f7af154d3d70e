// Unrolls loops of few constant iterations, such as the taps of a window, inside a loop with unit stride, so
// that the outer loop can be vectorized without a loop in it. Leaves bodies alone that would become long.
//     for j: for q in range(3): s += w[q] * x[j + q]   →   for j: s += w[0] * x[j]; s += w[1] * x[j + 1]; …
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void unroll_small_loops(LoopNest &nest);

}  // namespace kw
