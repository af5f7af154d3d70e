// The loads that evaluating an expression evaluates in any case: not those that a lazy operator may leave
// out. Asks nothing of the statement that the expression stands in.
#pragma once

#include <functional>

#include "ir/node.h"

namespace kw {

/// Calls f for each load outside what a condition decides, from the left. Subscripts are not searched.
void for_each_certain_load(const Expr &e, const std::function<void(const Load &)> &f);

}  // namespace kw
