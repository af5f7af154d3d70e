// Loops over columns that each run down their own: a stretch of columns goes down together, row after row, so
// that memory is read in its order, and the scalar of each column becomes an element of a small array. Leaves
// alone what a loop around could use again.
//     for j: s = 0; for i: s += x[i, j]; y[j] = s
//       →   for j0: for j: s[j] = 0; for i: for j: s[j] += x[i, j]; for j: y[j] = s[j]
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

void strip_mine_column_reductions(LoopNest &nest, const Target &target);

}  // namespace kw
