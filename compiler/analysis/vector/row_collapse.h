// Rows that lie end to end in memory: when a loop over rows does nothing but run over the elements of a row,
// and every row is as long as that loop, all rows are one row.
//     for i in range(n): for j in range(m): c[i, j] = a[i, j]   →   for j in range(n * m): c[0, j] = a[0, j]
#pragma once

#include <vector>

#include "ir/node.h"

namespace kw {

/// Returns the buffers of which the body of `row` uses the element of this row and column, when it uses the
/// iterators of the two loops for nothing else and stores to no other element; else none.
std::vector<Buf> buffers_in_rows(const For &rows, const For &row);

}  // namespace kw
