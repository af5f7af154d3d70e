// sin, cos, tan. After the reduction both sine and cosine of the rest are evaluated and one is blended in, so
// that no branch depends on the quadrant. Chebyshev interpolants on |r| <= π/4; at most 0.6 ULP for sin and
// cos, 0.8 for tan, whose quotient is formed of pairs.
#pragma once

#include "transform/math/pair.h"

namespace kw {

/// Expands sin, cos or tan.
Expr expand_trigonometric(const Arith &a, Fn fn, const Expr &x);

}  // namespace kw
