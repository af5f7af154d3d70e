// asin, acos, atan, atan2: all are the angle of a point (x, y). The smaller coordinate is divided by the
// larger; a ratio above √2 − 1 is reduced by tan(a − π/4) = (n − d) / (n + d). Quotients and sums are pairs,
// the odd series is a Chebyshev interpolant; at most 0.6 ULP.
#pragma once

#include "transform/math/pair.h"

namespace kw {

Expr expand_atan(const Arith &a, const Expr &x);
/// asin(x) is the angle of (√(1 − x²), x), acos(x) that of (x, √(1 − x²)).
Expr expand_asin(const Arith &a, const Expr &x);
Expr expand_acos(const Arith &a, const Expr &x);
Expr expand_atan2(const Arith &a, const Expr &y, const Expr &x);

}  // namespace kw
