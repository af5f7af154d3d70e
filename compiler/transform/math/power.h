// x to the power y as e^(y log |x|) with the logarithm and the product as pairs, and the cases of C99's pow.
// Relative error of the logarithm below 2^-65, so at most 0.7 ULP.
#pragma once

#include "transform/math/pair.h"

namespace kw {

Expr expand_power(const Arith &a, const Expr &x, const Expr &y, const Target &target);

}  // namespace kw
