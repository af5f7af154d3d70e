// Decides on loop collapsing: a loop over rows that only runs over the elements of a row becomes one loop.
// The rows must be contiguous and as long as the inner loop.
//     for i in range(n): for j in range(m): c[i, j] = a[i, j]   →   for j in range(n * m): c[0, j] = a[0, j]
#pragma once

#include <vector>

#include "analysis/vector/vectorization.h"

namespace kw {

/// Returns the buffers whose element at this row and column the body of `row` accesses. Empty if the body
/// uses either iterator for anything else or stores to another element.
std::vector<Buf> buffers_in_rows(const For &rows, const For &row);

/// Returns the vector loop over the elements of a row if the loop over rows does nothing else, or null.
/// `in_region` tells whether a parallel loop encloses the rows or is the loop over them: the row may then run
/// in blocks.
const For *row_of(const For &rows, bool in_region);

/// Returns whether the loop over rows may be collapsed with its row, of which `view` is the analysis: the row
/// accumulates nothing, and the rows of all buffers may be contiguous.
bool can_flatten(const For &rows, const For &row, const VectorizationAnalysis &view);

}  // namespace kw
