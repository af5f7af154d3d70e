// Simplifies the body of a loop under its bounds. Removes conditions that hold in all iterations or in none,
// clamps without effect, and remainders of values smaller than the divisor.
#pragma once

#include <vector>

#include "ir/node.h"

namespace kw {

/// Returns the simplified body; null if nothing is left. `around`: the enclosing loops, outermost first.
/// Assumes extents of at least 1.
Stmt simplify_under_bounds(const For &loop, const std::vector<const For *> &around);

}  // namespace kw
