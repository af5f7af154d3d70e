// Distributes loops that hold sums in the order `lanes` beside sums in source order. The former are
// vectorized in their own loop, the latter only in a loop around it. Each kind gets loops of its own over a
// tile of iterations.
//     for i: s = 0; for k: s += … @ lanes(k); t = 0; for k: t += …; y[i] = s + t
//       →   for i0: for i: s[i] = 0      for i: for k: s[i] += … @ lanes(k)
//                   for i: t[i] = 0      for i: for k: t[i] += …, i vectorized     for i: y[i] = s[i] + t[i]
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

/// Distributes the loops if that vectorizes more of them.
void separate_sums(LoopNest &nest, const Target &target);

}  // namespace kw
