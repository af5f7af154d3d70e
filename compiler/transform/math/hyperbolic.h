// sinh, cosh, tanh. With |x| = r + k ln 2, C = cosh r, S = sinh r, A = 1 + 4^-k, B = 1 − 4^-k:
// cosh = (C A + S B) 2^(k−1), sinh = (C B + S A) 2^(k−1), without cancellation. C and S are Chebyshev
// interpolants, all sums are pairs; at most 0.6 ULP.
#pragma once

#include "transform/math/pair.h"

namespace kw {

/// Expands sinh, cosh or tanh.
Expr expand_hyperbolic(const Arith &a, Fn fn, const Expr &x);

}  // namespace kw
