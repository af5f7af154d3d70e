// Sums in lanes beside sums in source order, in one loop: the first take the vectors for their own loop, and
// the second leave only the loop around both. Each gets a loop of its own over a stretch of iterations.
//     for i: s = 0; for k: s += … @ lanes(k); t = 0; for k: t += …; y[i] = s + t
//       →   for i0: for i: s[i] = 0      for i: for k: s[i] += … @ lanes(k)
//                   for i: t[i] = 0      for i: for k: t[i] += …, i in vectors      for i: y[i] = s[i] + t[i]
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

/// Cuts the loops where that vectorizes more of them.
void separate_sums(LoopNest &nest, const Target &target);

}  // namespace kw
