// Rows that lie end to end in memory: when a loop over rows does nothing but run over the elements of a row,
// and every row is as long as that loop, all rows are one row.
//     for i in range(n): for j in range(m): c[i, j] = a[i, j]   →   for j in range(n * m): c[0, j] = a[0, j]
#pragma once

#include <vector>

#include "analysis/vector/vectorization.h"

namespace kw {

/// Returns the buffers of which the body of `row` uses the element of this row and column, when it uses the
/// iterators of the two loops for nothing else and stores to no other element; else none.
std::vector<Buf> buffers_in_rows(const For &rows, const For &row);

/// Returns the vector loop over the elements of a row that is all the loop over rows does, or null.
/// `in_region` tells whether a parallel loop encloses the rows or is the loop over them: the row may then run
/// in blocks.
const For *row_of(const For &rows, bool in_region);

/// Returns whether the loop over rows may be flattened: its row accumulates nothing, and rows of all buffers
/// may lie end to end.
bool can_flatten(const For &rows, bool in_region);

}  // namespace kw
