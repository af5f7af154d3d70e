// e^x for float32 and float64, at most 1 ULP over the whole range, subnormal results and special values
// included. Argument reduction by Cody and Waite with ln 2 in two parts; q is the Chebyshev interpolant of
// (e^r − 1 − r) / r² on |r| <= ln 2 / 2.
#pragma once

#include "ir/build.h"
#include "support/target.h"

namespace kw {

Expr expand_exp(const Expr &x, const Target &target);

}  // namespace kw
