// What follows from a condition that has a value. Looks at conjunctions and disjunctions only.
//     a and b  is true   →   a is true, b is true;     a or b  is false   →   a is false, b is false
#pragma once

#include <utility>
#include <vector>

#include "ir/node.h"

namespace kw {

/// Returns the parts of a condition that all have one value where it holds, or does not: each with its value.
std::vector<std::pair<Expr, bool>> condition_parts(const Expr &condition, bool holds);

}  // namespace kw
