// Rewrites a loop over rows, each of which a thread goes through in its order, for a GPU. Of 32 rows at a
// time, 32 columns are copied to and from memory that the threads of a team share, side by side.
//     for i: s = 0; for j: s += x[i, j]; y[i, j] = s   →
//         for i0 in grid: for t in block: sums[t] = 0;  for j0: copy x_tile;  for t in block: s = sums[t];
//             for j in (j0, j0 + 32): s += x_tile[t, j - j0]; y_tile[t, j - j0] = s;  …  copy y_tile
// Columns, which threads go down side by side, have x_tile[i - i0, t], and only what they load is copied.
#pragma once

#include "ir/func.h"

namespace kw {

/// Where each thread goes: through a row, or down a column.
enum class ThreadPath : uint8_t { rows, columns };

/// Returns whether a body is statements and loops with steps of 1, of which one goes through a row (or down a
/// column) that can be copied, and whether what a team then shares fits a block.
bool can_stage_rows(const For &rows, ThreadPath path, int64_t width);

/// Returns the loop as teams of `width` rows, or columns, each: 32, or 8 columns.
Stmt staged_rows(const For &rows, ThreadPath path, int64_t width, const Loc &loc);

}  // namespace kw
