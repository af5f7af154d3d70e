// Lowers sums and products in the order `lanes` (language.md 3) to explicit code over 64 accumulators L:
//     s[x] += t @ lanes   in its band   →   if n < 64: s[x] += t   else: L[k % 64] += t
// k is the iteration number in the band, n the trip count. Every 4,096 iterations L folds 32, 16, … 1 into a
// block sum, and block sums fold pairwise. s[x] += total follows the band if any iteration added a term. A
// vectorized band runs in blocks of rows (blocked_reduction), any other one-loop band in a loop of blocks. In
// longer bands k determines where blocks end. Back ends that execute the marks do not need this.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func lower_reductions(const Func &f, const Target &target);

}  // namespace kw
