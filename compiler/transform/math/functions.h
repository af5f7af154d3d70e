// Expansions of elementary functions in pairs of numbers; transform/math/expand chooses among the functions.
// Errors are in units in the last place (ULP).
#pragma once

#include "transform/math/pair.h"

namespace kw {

/// log, log2, log10, log1p, and the logarithm as a pair for power. x = m · 2^k with m in [√½, √2), then log m
/// = 2 artanh s with s = (m − 1) / (m + 1). The first two terms of the series are pairs, the rest is the
/// Chebyshev interpolant. Relative error below 2^-65 (float64), so at most 0.51 ULP.
Expr expand_logarithm(const Arith &a, Fn fn, const Expr &x);
/// Returns log x as a pair; x is positive and finite, with any exponent.
Pair log_pair(const Arith &a, const Expr &x);

/// x to the power y as e^(y log |x|) with the logarithm and the product as pairs, and the cases of C99's pow.
/// Relative error of the logarithm below 2^-65, so at most 0.7 ULP.
Expr expand_power(const Arith &a, const Expr &x, const Expr &y, const Target &target);

/// sin, cos, tan. After the reduction both sine and cosine of the rest are evaluated and one is blended in,
/// so that no branch depends on the quadrant. Chebyshev interpolants on |r| <= π/4; at most 0.6 ULP for sin
/// and cos, 0.8 for tan, whose quotient is formed of pairs.
Expr expand_trigonometric(const Arith &a, Fn fn, const Expr &x);

/// asin, acos, atan, atan2: all are the angle of a point (x, y). The smaller coordinate is divided by the
/// larger; a ratio above √2 − 1 is reduced by tan(a − π/4) = (n − d) / (n + d). Quotients and sums are pairs,
/// the odd series is a Chebyshev interpolant; at most 0.6 ULP.
Expr expand_atan(const Arith &a, const Expr &x);
/// asin(x) is the angle of (√(1 − x²), x), acos(x) that of (x, √(1 − x²)).
Expr expand_asin(const Arith &a, const Expr &x);
Expr expand_acos(const Arith &a, const Expr &x);
Expr expand_atan2(const Arith &a, const Expr &y, const Expr &x);

/// sinh, cosh, tanh. With |x| = r + k ln 2, C = cosh r, S = sinh r, A = 1 + 4^-k, B = 1 − 4^-k:
/// cosh = (C A + S B) 2^(k−1), sinh = (C B + S A) 2^(k−1), without cancellation. C and S are Chebyshev
/// interpolants, all sums are pairs; at most 0.6 ULP.
Expr expand_hyperbolic(const Arith &a, Fn fn, const Expr &x);

/// erf and erfc. erfc(x) = e^(−x²) f(q) / (1 + 2x) for x >= 0, where q = (x − 4) / (x + 4) and f is a
/// Chebyshev interpolant (the transformation is that of Shepherd and Laframboise, 1981). e^(−x²), the last
/// step of f and the quotient are pairs. erf is an odd series below 0.75, else 1 − erfc. At most 0.9 ULP.
Expr expand_erf(const Arith &a, const Expr &x);
Expr expand_erfc(const Arith &a, const Expr &x);

}  // namespace kw
