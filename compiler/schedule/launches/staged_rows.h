// Rewrites a loop over rows, each of which a thread goes through in its order, for a GPU. Of 32 rows at a
// time, 32 columns are copied to and from memory that the threads of a team share, side by side.
//     for i: s = 0; for j: s += x[i, j]; y[i, j] = s   →
//         for i0 in grid: for t in block: sums[t] = 0;  for j0: copy x_tile;  for t in block: s = sums[t];
//             for j in (j0, j0 + 32): s += x_tile[t, j - j0]; y_tile[t, j - j0] = s;  …  copy y_tile
#pragma once

#include "ir/func.h"

namespace kw {

/// Returns how many teams of a block have room for what they share; 0 if one has not, if the body is more
/// than statements and loops with steps of 1, or if none of these loops goes through a row.
int64_t teams_for_rows(const For &rows);

/// Returns the loop as teams of 32 rows each.
Stmt staged_rows(const For &rows, const Loc &loc);

}  // namespace kw
