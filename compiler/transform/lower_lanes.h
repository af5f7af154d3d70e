// Sums and products that run in lanes (language.md 3) become explicit code over 64 accumulators:
//     s[x] += t @ lanes   in its band   →   if n < 64: s[x] += t   else: L[k % 64] += t
// with k the iteration number in the band and n their count. Each 4,096 iterations L folds 32, 16, … 1 into a
// block sum; block sums fold pairwise in a counter of partial sums; after the band s[x] += total, if any
// iteration added something. A band in vectors becomes blocks of rows (lane_rows), another one of one loop a
// loop of blocks; a longer one finds their ends by k. For back ends that do not execute the marks themselves.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func lower_lanes(const Func &f, const Target &target);

}  // namespace kw
