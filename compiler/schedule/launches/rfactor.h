// Rewrites a reduction with nothing parallel outside for a GPU: each block of threads reduces 131,072
// iterations, and one block combines their results, four in each thread, in pairs, until one remains.
// Selections: selected_parts.h.
//     for i: for j: s += x[i, j] @ lanes  →
//         for b in grid: part = -0.0;  for k in block: part += x[k // m, k % m];  parts[b] = part
//         for level: for g in block: parts[4 g d] = parts[4 g d] + … + parts[(4 g + 3) d]      d = 4^level
#pragma once

#include <vector>

#include "ir/func.h"

namespace kw {

/// Returns the loops that a reduction runs over, outermost first: perfectly nested from this one inwards.
/// Sums in the order `lanes` run over exactly these. Returns none if their trip counts are not those of a
/// rectangle.
std::vector<const For *> loops_of_reduction(const For &outermost);

/// Returns the statements that stand for the loops. The caller has checked that their iterations share
/// nothing but what threads can combine (directives/legal_kinds).
Stmt rfactored(const std::vector<const For *> &loops, const Loc &loc);

}  // namespace kw
