// Loops of a few constant iterations inside a loop whose elements lie side by side, such as the taps of a
// window, are written out: the loop around them can then run in lanes without a loop in it. Leaves alone what
// would become long.
//     for j: for q in range(3): s += w[q] * x[j + q]   →   for j: s += w[0] * x[j]; s += w[1] * x[j + 1]; …
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void unroll_small_loops(LoopNest &nest);

}  // namespace kw
