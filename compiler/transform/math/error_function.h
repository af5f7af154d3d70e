// erf and erfc. erfc(x) = e^(−x²) f(q) / (1 + 2x) for x >= 0, where q = (x − 4) / (x + 4) and f is a
// Chebyshev interpolant (the transformation is that of Shepherd and Laframboise, 1981). e^(−x²), the last
// step of f and the quotient are pairs. erf is an odd series below 0.75, else 1 − erfc. At most 0.9 ULP.
#pragma once

#include "transform/math/pair.h"

namespace kw {

Expr expand_erf(const Arith &a, const Expr &x);
Expr expand_erfc(const Arith &a, const Expr &x);

}  // namespace kw
