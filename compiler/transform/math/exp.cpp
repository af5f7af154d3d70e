// The exponential polynomials.
#include "transform/math/exp.h"

#include <span>

#include "ir/intrinsics.h"

namespace kw {

namespace {

struct ExpTable {
  double low, high;           ///< the result is 0 below and infinite above
  double ln2_high, ln2_low;   ///< k · ln2_high is exact for every k that occurs
  std::span<const double> q;  ///< constant term first
  double magic;
  int mantissa_bits, bias;
  DType bits;  ///< an unsigned integer of the width
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
const ExpTable table32{-104.0, 89.0, 0x1.62e4p-1, 0x1.7f7d1cf79abcap-20, q32, 0x1.8p23, 23, 127, DType::u32};
const ExpTable table64{-746.0, 710.0, 0x1.62e42fefa3p-1, 0x1.3de6af278ece6p-42, q64, 0x1.8p52,
                       52,     1023,  DType::u64};

/// Returns a float near 1.5 · 2^mantissa_bits: its lowest bits hold an integer and nothing else.
double integers_from(int offset, const ExpTable &t) { return t.magic + offset; }

/// Returns the float whose biased exponent is in the lowest bits of `biased`.
Expr with_exponent(const Expr &biased, const ExpTable &t) {
  return call(Fn::from_bits, {binary(BinOp::shl, biased, cast(t.bits, const_int(t.mantissa_bits)))});
}

}  // namespace

Expr expand_exp(const Expr &x, const Target &target) {
  DType type = x.dtype();
  const ExpTable &t = type == DType::f32 ? table32 : table64;
  auto number = [&](double v) { return const_float(type, v, x.loc()); };
  auto times_plus = [&](const Expr &a, const Expr &b, const Expr &c) {
    return target.has_fma() ? call(Fn::fma, {a, b, c}, x.loc()) : add(mul(a, b), c);
  };
  // these comparisons keep NaN
  Expr above = select(binary(BinOp::lt, x, number(t.low)), number(t.low), x, x.loc());
  Expr clamped = select(binary(BinOp::lt, number(t.high), above), number(t.high), above);
  Expr magic = number(integers_from(2 * t.bias, t));
  Expr shifted = times_plus(clamped, number(1.4426950408889634), magic);
  Expr k = sub(shifted, magic);
  Expr r = times_plus(k, number(-t.ln2_high), clamped);  // exact, fused or not
  r = times_plus(k, number(-t.ln2_low), r);
  Expr q = number(t.q.back());
  for (size_t i = t.q.size() - 1; i-- > 0;) q = times_plus(q, r, number(t.q[i]));
  Expr e = add(number(1), times_plus(mul(r, r), q, r));
  if (target.has_scale()) return call(Fn::scale, {e, k}, x.loc());
  // 2^k in two factors, so that neither overflows and a subnormal result is rounded once. One is k / 2 with
  // the bias of exponents, the other the rest of k, which with twice the bias is in `shifted`.
  Expr half = call(Fn::to_bits, {times_plus(k, number(0.5), number(integers_from(t.bias, t)))});
  Expr left = sub(call(Fn::to_bits, {shifted}), half);
  return mul(mul(e, with_exponent(half, t)), with_exponent(left, t));
}

}  // namespace kw
