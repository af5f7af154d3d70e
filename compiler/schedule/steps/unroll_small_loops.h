// Unrolls loops of few constant iterations inside a loop with unit stride, such as the taps of a window. The
// outer loop can then be vectorized without a loop inside. Bodies that would become long stay as they are.
//     for j: for q in range(3): s += w[q] * x[j + q]   →   for j: s += w[0] * x[j]; s += w[1] * x[j + 1]; …
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void unroll_small_loops(LoopNest &nest);

}  // namespace kw
