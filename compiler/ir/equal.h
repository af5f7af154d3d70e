// Compares IR structurally, up to Loc and names: bound symbols correspond by position.
// This is no semantic equality: a + b and b + a differ.
#pragma once

#include "ir/func.h"

namespace kw {

bool equal(const Func &a, const Func &b);
/// Free symbols must be identical.
bool equal(const Expr &a, const Expr &b);
/// Compares lists of subscripts: equal lengths, and equal expressions in the same order.
bool equal(const std::vector<Expr> &a, const std::vector<Expr> &b);

}  // namespace kw
