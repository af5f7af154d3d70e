// Elementary functions of float32 in float32 arithmetic, with fma except for sigmoid: at most 1 ULP (sigmoid
// 3) over the whole range, special values included; tests/exhaustive lists the errors. The polynomials are
// minimax in the error of the result. Their coefficients are rounded one after another from the constant term
// on, and the remaining ones are fitted again after each.
#pragma once

#include "ir/build.h"
#include "ir/intrinsics.h"
#include "support/target.h"

namespace kw {

/// Expands a function; returns null if it has no such form on the target.
Expr expand_single(Fn fn, const Expr &x, const Target &target);

}  // namespace kw
