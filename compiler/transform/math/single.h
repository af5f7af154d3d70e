// Float32 arithmetic as IR, the base of the elementary functions of float32 if the target has fma. Uses no
// float64, so that vectors keep their full width. Knows no function.
#pragma once

#include <span>

#include "ir/build.h"
#include "ir/intrinsics.h"

namespace kw::single {

Expr number(double v);
Expr word(uint32_t v);
Expr bits_of(const Expr &x);
Expr from_word(const Expr &x);
/// Returns a * b + c with one rounding.
Expr mad(const Expr &a, const Expr &b, const Expr &c);
/// Evaluates a polynomial by Horner's scheme, constant term first.
Expr horner(std::span<const double> coefficients, const Expr &x);
Expr magnitude(const Expr &x);
/// Returns the smaller of the two; the limit for NaN.
Expr at_most(const Expr &x, double limit);
/// Returns a magnitude with the sign of x.
Expr with_sign_of(const Expr &x, const Expr &magnitude);

}  // namespace kw::single
