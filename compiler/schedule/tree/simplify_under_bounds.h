// What the range of a loop decides: conditions that hold in all of its iterations, or in none, clamps that
// never clamp and remainders of what is smaller than the divisor go out of its body.
#pragma once

#include <vector>

#include "ir/node.h"

namespace kw {

/// The body of a loop, for its range; null when nothing is left of it. `around` are the loops around it,
/// outermost first. Extents are taken as at least 1.
Stmt simplify_under_bounds(const For &loop, const std::vector<const For *> &around);

}  // namespace kw
