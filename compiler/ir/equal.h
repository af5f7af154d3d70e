// Structural equality of IR up to Loc and names: bound symbols correspond by position.
// Not a semantic equality: a + b and b + a differ.
#pragma once

#include "ir/func.h"

namespace kw {

bool equal(const Func &a, const Func &b);
/// Free symbols must be identical.
bool equal(const Expr &a, const Expr &b);
/// Of subscripts: as many, each equal to the other's.
bool equal(const std::vector<Expr> &a, const std::vector<Expr> &b);

}  // namespace kw
