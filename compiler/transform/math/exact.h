// Functions with exact results as IR: classification, sign, remainders of integers, integer powers, and
// rounding for targets without an instruction for it. Elementary functions with rounding errors are in the
// files beside this one.
#pragma once

#include "ir/build.h"
#include "ir/intrinsics.h"
#include "support/target.h"

namespace kw {

/// Expands floor, ceil, trunc or round (half to even) of a float to the instruction, if the target has one.
/// Otherwise expands to arithmetic that keeps -0.0, infinities and NaN.
Expr expand_rounding(Fn fn, const Expr &x, const Target &target);
/// Expands isnan, isinf and isfinite; for integers to a constant.
Expr expand_class(Fn fn, const Expr &x);
/// Returns -1, 0 or 1 in the dtype of x; NaN stays, both zeros give +0.
Expr expand_sign(const Expr &x);
/// Returns the integer remainder with the sign of x; 0 for y = 0.
Expr expand_integer_fmod(const Expr &x, const Expr &y);
/// Returns -(-x // y) without overflow.
Expr expand_ceil_div(const Expr &x, const Expr &y);
/// Returns x to the power y by squaring, wrapping. A negative y gives 0, or ±1 for x = ±1.
Expr expand_integer_power(const Expr &x, const Expr &y);

}  // namespace kw
