// Bands of sums in lanes whose innermost loop runs in vectors, as blocks of 4,096 iterations in rows of 64:
//     for i: for j in vector: s += x[i, j] @ lanes   →   for block: lanes = -0.0;
//         for row: for l in vector(first, end, vector_width=64): lanes[l] += x[i, j];   fold lanes; count the
//         block
// Rows lie at multiples of 64 iterations of the whole band: where it has several loops, one may begin and end
// in the middle. Blocks of a band whose outermost loop is parallel run on threads. Chooses no form of a sum.
#pragma once

#include "support/target.h"
#include "transform/lowering/reduction_plan.h"

namespace kw {

/// The loop that a pure band begins with, or the one loop of a band, with all in it accumulating in lanes, as
/// blocks. Leaves the counts of the sums to the caller.
Stmt run_in_rows(const For &outermost, const std::vector<const ReductionPlan *> &sums, const Loc &loc,
                 const Target &target);

}  // namespace kw
