// Lowers a vectorized band of sums in the order `lanes` to blocks of 4,096 iterations in rows of 64:
//     for i: for j in vector: s += x[i, j] @ lanes   →   for block: lanes = -0.0;
//         for row: for l in vector(first, end): lanes[l] += x[i, j];  fold lanes; count the block
// Rows begin at multiples of 64 iterations of the band; with several loops a row may begin and end inside
// one. If the outermost loop is parallel, the blocks run on several threads. Chooses no form of a sum.
#pragma once

#include "support/target.h"
#include "transform/lowering/reduction_plan.h"

namespace kw {

/// Returns the outermost loop of a perfect reduction, or the one loop of a band, as blocks. Every store in it
/// must accumulate in the order `lanes`. The caller defines the counts of the sums.
Stmt run_in_rows(const For &outermost, const std::vector<const ReductionPlan *> &sums, const Loc &loc,
                 const Target &target);

}  // namespace kw
