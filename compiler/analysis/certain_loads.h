// Finds the loads that evaluating an expression always executes: those outside the lazy sides of operators.
// Conditions around the statement are not considered.
#pragma once

#include <functional>

#include "ir/node.h"

namespace kw {

/// Calls f for each such load, from left to right. Does not search subscripts.
void for_each_certain_load(const Expr &e, const std::function<void(const Load &)> &f);

}  // namespace kw
