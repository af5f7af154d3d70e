// Elementary functions of float32 in float32 arithmetic, with fma but for sigmoid: at most 1 ULP (sigmoid 3)
// over the whole range, special values included; tests/exhaustive tells the errors. The polynomials are
// minimax in the error of the result; their coefficients are rounded one after another, from the constant
// term on, and those that remain are fitted again after each.
#pragma once

#include "ir/build.h"
#include "ir/intrinsics.h"
#include "support/target.h"

namespace kw {

/// Null for a function that has no such form on the target.
Expr expand_single(Fn fn, const Expr &x, const Target &target);

}  // namespace kw
