// Keeps a row that the loops of a team write and read again in memory that the team shares.
//     for i in grid: for j in block: y[i, j] = exp(…)  for j in block: y[i, j] = y[i, j] / s   →
//     for i in grid: for j in block: row[j] = exp(…)   for j in block: y[i, j] = row[j] / s
// If the team is a block, sums in the order `lanes` beside the first store get a loop of their own.
#pragma once

#include <optional>
#include <vector>

#include "ir/func.h"

namespace kw {

struct CachedRow {
  Buf buf;
  std::vector<const For *> loops;   ///< the block loops that access it, all over the same range
  const For *last_store = nullptr;  ///< the last one that stores, in each iteration: others need not; or null
  bool is_read_after = false;       ///< a load follows that store
  int64_t elements = 0;             ///< for which there is room
};

/// Returns what of a row can be kept; nothing if block loops of the launch access other elements, if the
/// first of them does not write the whole row, or none reads it. `grid` is the outermost loop of the launch.
std::optional<CachedRow> cacheable_row(const For &grid, const Buf &buf);

/// Returns whether the conditions around the grid loop say that rows fit.
bool surely_fits(const Stmt &region, const For &grid, const CachedRow &row);

/// Returns the grid loop with the row in shared memory, for rows that fit: as the one side of a condition,
/// unless the conditions around it in the region say that they do.
Stmt with_cached_row(const Stmt &region, const Stmt &grid, const CachedRow &row);

}  // namespace kw
