// A copy of a loop over rows for calls with short rows. Their sums in the order `lanes` are in source order,
// because fewer than 64 terms are (language.md 3).
//     for i: for j in (0, n): s += x[i, j] @ lanes(j)   →   if n < 64: for i: for j: s += x[i, j]  else: …
#pragma once

#include "ir/node.h"

namespace kw {

/// Returns a branch between a copy of the loop, for calls in which `row` in it has fewer than 64 iterations,
/// and the loop.
Stmt with_short_rows(const Stmt &loop, const For &row);

}  // namespace kw
