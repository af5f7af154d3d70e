// Float32 arithmetic as IR, from which the elementary functions of float32 are built where the target has
// fma: no float64, so that a vector holds all its lanes. Knows no function.
#pragma once

#include <span>

#include "ir/build.h"
#include "ir/intrinsics.h"

namespace kw::single {

Expr number(double v);
Expr word(uint32_t v);
Expr bits_of(const Expr &x);
Expr from_word(const Expr &x);
/// a * b + c with one rounding.
Expr mad(const Expr &a, const Expr &b, const Expr &c);
/// Horner's scheme, constant term first.
Expr horner(std::span<const double> coefficients, const Expr &x);
Expr magnitude(const Expr &x);
/// The smaller of the two; the limit for NaN.
Expr at_most(const Expr &x, double limit);
/// A magnitude with the sign of x.
Expr with_sign_of(const Expr &x, const Expr &magnitude);

}  // namespace kw::single
