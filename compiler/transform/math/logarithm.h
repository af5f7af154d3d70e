// log, log2, log10, log1p, and the logarithm as a pair for power. x = m · 2^k with m in [√½, √2), then log m
// = 2 artanh s with s = (m − 1) / (m + 1). The first two terms of the series are pairs, the rest is the
// Chebyshev interpolant. Relative error below 2^-65 (float64), so at most 0.51 ULP.
#pragma once

#include "transform/math/pair.h"

namespace kw {

/// Returns log x as a pair; x is positive and finite, with any exponent.
Pair log_pair(const Arith &a, const Expr &x);

/// Expands log, log2, log10 or log1p.
Expr expand_logarithm(const Arith &a, Fn fn, const Expr &x);

}  // namespace kw
