// Strip-mines loops over columns whose inner loops reduce one column. The columns of a strip are reduced
// together, row by row, so that memory is read in order. The scalar of each column becomes an element of a
// small array. Loops whose data an outer loop could reuse stay as they are.
//     for j: s = 0; for i: s += x[i, j]; y[j] = s
//       →   for j0: for j: s[j] = 0; for i: for j: s[j] += x[i, j]; for j: y[j] = s[j]
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

void strip_mine_column_reductions(LoopNest &nest, const Target &target);

}  // namespace kw
