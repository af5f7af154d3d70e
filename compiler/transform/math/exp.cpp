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
  DType word, bits;  ///< signed and unsigned integers of the width
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
const ExpTable table32{-104.0, 89.0,       0x1.62e4p-1, 0x1.7f7d1cf79abcap-20, q32, 0x1.8p23, 23,
                       127,    DType::i32, DType::u32};
const ExpTable table64{-746.0, 710.0,      0x1.62e42fefa3p-1, 0x1.3de6af278ece6p-42, q64, 0x1.8p52, 52,
                       1023,   DType::i64, DType::u64};

/// 2^n for an integer n whose power is a normal number.
Expr power_of_two(const Expr &n, const ExpTable &t) {
  Expr biased = add(n, cast(t.word, const_int(t.bias)));
  Expr placed = binary(BinOp::shl, biased, cast(t.word, const_int(t.mantissa_bits)));
  return call(Fn::from_bits, {cast(t.bits, placed)});
}

}  // namespace

Expr expand_exp(const Expr &x, const Target &target) {
  DType type = x.dtype();
  const ExpTable &t = type == DType::f32 ? table32 : table64;
  auto number = [&](double v) { return const_float(type, v, x.loc()); };
  auto times_plus = [&](const Expr &a, const Expr &b, const Expr &c) {
    return target.has_fma() ? call(Fn::fma, {a, b, c}, x.loc()) : add(mul(a, b), c);
  };
  // comparisons that keep NaN
  Expr above = select(binary(BinOp::lt, x, number(t.low)), number(t.low), x, x.loc());
  Expr clamped = select(binary(BinOp::lt, number(t.high), above), number(t.high), above);
  // beside 1.5 · 2^mantissa_bits only the integer nearest to the quotient is left, in the lowest bits
  Expr magic = number(t.magic);
  Expr shifted = times_plus(clamped, number(1.4426950408889634), magic);
  Expr k = sub(shifted, magic);
  Expr r = times_plus(k, number(-t.ln2_high), clamped);  // exact, fused or not
  r = times_plus(k, number(-t.ln2_low), r);
  Expr q = number(t.q.back());
  for (size_t i = t.q.size() - 1; i-- > 0;) q = times_plus(q, r, number(t.q[i]));
  Expr e = add(number(1), times_plus(mul(r, r), q, r));
  if (target.has_scale()) return call(Fn::scale, {e, k}, x.loc());
  // 2^k in two factors, so that neither overflows and a subnormal result is rounded once
  auto word = [&](const Expr &v) { return cast(t.word, call(Fn::to_bits, {v})); };
  Expr n = sub(word(shifted), word(magic));
  Expr half = binary(BinOp::shr, n, cast(t.word, const_int(1)));
  return mul(mul(e, power_of_two(half, t)), power_of_two(sub(n, half), t));
}

}  // namespace kw
