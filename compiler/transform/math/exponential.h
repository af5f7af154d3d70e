// exp2, expm1, sigmoid, and e^x of a pair for power and erfc. Argument reduction by Cody and Waite, then e^r
// − 1 = r + r²/2 + r³ q(r). The first two terms are pairs, q is the Chebyshev interpolant on |r| <= ln 2 / 2.
// Relative error of e^r below 2^-60 (float64), so at most 0.6 ULP, or 0.8 when subnormal.
#pragma once

#include "transform/math/pair.h"

namespace kw {

/// e^x = (1 + p) · 2^k.
struct ExpParts {
  Expr k;  ///< i64
  Pair p;
};
/// Requires x within ±1,000,000. For NaN, k is garbage and p is NaN.
ExpParts exp_parts(const Arith &a, const Pair &x);
/// Returns 1 + p.
Pair one_plus(const Arith &a, const Pair &p);
/// Returns v · 2^k for k in -2044 … 2046, rounded once if subnormal.
Expr scaled(const Arith &a, const Expr &v, const Expr &k);
/// Limits x to the range outside of which e^x is 0 or infinite in the result's type.
Expr clamp_exponent(const Arith &a, const Expr &x);

// These expand the functions themselves for float64 values, like the others of this folder.
Expr expand_exp2(const Arith &a, const Expr &x);
Expr expand_expm1(const Arith &a, const Expr &x);
Expr expand_sigmoid(const Arith &a, const Expr &x);

}  // namespace kw
