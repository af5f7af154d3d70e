// The exponential polynomials.
#include "transform/math/exp.h"

#include <span>

#include "ir/intrinsics.h"
#include "transform/math/exact.h"

namespace kw {

namespace {

struct ExpTable {
  double low, high;           ///< the result is 0 below and infinite above
  double ln2_high, ln2_low;   ///< k · ln2_high is exact for every k that occurs
  std::span<const double> q;  ///< constant term first
  int mantissa_bits, bias;
  DType bits;
};

constexpr double q32[] = {0.5000000013,  0.1666666668,   0.0416664646,
                          0.00833331089, 0.001393368586, 0.0001989103065};
constexpr double q64[] = {0.5,
                          0.1666666666666667101,
                          0.04166666666666666977,
                          0.008333333333326112053,
                          0.001388888888888373183,
                          0.0001984126987490125923,
                          0.00002480158732560532278,
                          2.755725529796964439e-6,
                          2.755727357010213967e-7,
                          2.510525953844849342e-8,
                          2.091471734171637595e-9};
const ExpTable table32{-104.0, 89.0, 0x1.62e4p-1, 0x1.7f7d1cf79abcap-20, q32, 23, 127, DType::u32};
const ExpTable table64{-746.0, 710.0, 0x1.62e42fefa3p-1, 0x1.3de6af278ece6p-42, q64, 52, 1023, DType::u64};

/// 2^n for an integer n whose power is a normal number.
Expr power_of_two(const Expr &n, const ExpTable &t) {
  Expr biased = add(n, const_int(t.bias));
  return call(Fn::from_bits,
              {binary(BinOp::shl, cast(t.bits, biased), cast(t.bits, const_int(t.mantissa_bits)))});
}

}  // namespace

Expr expand_exp(const Expr &x, const Target &target) {
  DType type = x.dtype();
  const ExpTable &t = type == DType::f32 ? table32 : table64;
  auto number = [&](double v) { return const_float(type, v, x.loc()); };
  auto times_plus = [&](const Expr &a, const Expr &b, const Expr &c) {
    return target.has_fma() ? call(Fn::fma, {a, b, c}, x.loc()) : add(mul(a, b), c);
  };
  Expr clamped = binary(BinOp::min, binary(BinOp::max, x, number(t.low)), number(t.high));
  Expr k = expand_rounding(Fn::floor, add(mul(clamped, number(1.4426950408889634)), number(0.5)), target);
  Expr r = sub(sub(clamped, mul(k, number(t.ln2_high))), mul(k, number(t.ln2_low)));
  Expr q = number(t.q.back());
  for (size_t i = t.q.size() - 1; i-- > 0;) q = times_plus(q, r, number(t.q[i]));
  Expr e = add(number(1), add(r, mul(mul(r, r), q)));
  // 2^k in two factors, so that neither overflows and a subnormal result is rounded once
  Expr n = cast(DType::i64, k, x.loc());
  Expr half = binary(BinOp::shr, n, const_int(1));
  return mul(mul(e, power_of_two(half, t)), power_of_two(sub(n, half), t));
}

}  // namespace kw
