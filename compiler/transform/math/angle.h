// Reduces angles for sin, cos and tan: x − n · π/2. Up to 10^6 by Cody and Waite with π/2 in parts of 33
// bits; beyond by Payne and Hanek (1983): the fraction of x · 2/π from the 128 bits of 2/π that matter, in
// 64-bit integers. The constants are selected, not loaded.
#pragma once

#include "transform/math/pair.h"

namespace kw {

struct Angle {
  Expr quadrant;  ///< u64, n modulo 4 in the low bits
  Pair rest;      ///< within ±π/4 and a little; relative error below 2^-60 (float64)
};

/// The |x| from which on reduce_huge_angle is called.
inline constexpr double huge_angle = 1e6;

Angle reduce_angle(const Arith &a, const Expr &x);
/// Reduces any finite |x| >= 10^6; only float32 values if not wide.
Angle reduce_huge_angle(const Arith &a, const Expr &x);

}  // namespace kw
