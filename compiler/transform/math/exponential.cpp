// The exponential functions other than exp.
#include "transform/math/exponential.h"

namespace kw {

namespace {

constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;  // high: 42 bits

constexpr double q32[] = {0.16666666666666666,   0.041666666719012257,   0.0083333333380908575,
                          0.001388885403566671,  0.00019841238163731054, 2.4859589834589056e-05,
                          2.7610039569324061e-06};
constexpr double q64[] = {0.16666666666666666,    0.041666666666666671,   0.0083333333333333332,
                          0.0013888888888883748,  0.00019841269841266415, 2.4801587325547743e-05,
                          2.7557319239957097e-06, 2.7557273643110297e-07, 2.5052078002329456e-08,
                          2.0914686968086876e-09, 1.6084327883952603e-10};

/// Returns e^r − 1 for |r| <= ln 2 / 2.
Pair exp_minus_one(const Arith &a, const Pair &r) {
  Pair square = a.mul(r, r);
  Expr tail = mul(mul(r.hi, square.hi), a.wide() ? a.poly(q64, r.hi) : a.poly(q32, r.hi));
  return a.add(a.add(r, a.scale(square, real(0.5))), {tail, {}});
}

}  // namespace

/// Reduces by Cody and Waite: ln2_high has 42 bits, so that its product with a k of up to 11 bits is exact.
ExpParts exp_parts(const Arith &a, const Pair &x) {
  Rounded k = nearest_integer(mul(x.hi, real(1.4426950408889634)));
  Expr high = sub(x.hi, mul(k.value, real(ln2_high)));
  Pair r = a.two_sum(high, unary(UnOp::neg, mul(k.value, real(ln2_low))));
  if (x.lo) r = a.add(r, {x.lo, {}});
  return {k.integer, exp_minus_one(a, r)};
}

Pair one_plus(const Arith &a, const Pair &p) {
  Pair s = a.quick_sum(real(1), p.hi);
  return p.lo ? a.quick_sum(s.hi, add(s.lo, p.lo)) : s;
}

Expr scaled(const Arith &a, const Expr &v, const Expr &k) {
  if (!a.wide()) return mul(v, power_of_two(k));  // the results of float32 are far from subnormal in float64
  // two factors: 2^k itself may be too large or too small for a float64 although the product is not
  Expr half = binary(BinOp::shr, k, const_int(1));
  return mul(mul(v, power_of_two(half)), power_of_two(sub(k, half)));
}

Expr clamp_exponent(const Arith &a, const Expr &x) {
  double low = a.wide() ? -746.0 : -104.0, high = a.wide() ? 710.0 : 89.0;
  return binary(BinOp::min, binary(BinOp::max, x, real(low)), real(high));
}

Expr expand_exp2(const Arith &a, const Expr &x) {
  double low = a.wide() ? -1080.0 : -152.0, high = a.wide() ? 1026.0 : 130.0;
  Expr y = binary(BinOp::min, binary(BinOp::max, x, real(low)), real(high));
  Rounded k = nearest_integer(y);
  Pair r = a.mul(a.constant(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56), {sub(y, k.value), {}});
  return scaled(a, a.value(one_plus(a, exp_minus_one(a, r))), k.integer);
}

/// Returns 2 · ((u − 1/2) + u p) with u = 2^(k-1), which is finite for every k.
Expr expand_expm1(const Arith &a, const Expr &x) {
  Expr y = binary(BinOp::max, clamp_exponent(a, x), real(-60));
  ExpParts e = exp_parts(a, {y, {}});
  Expr u = power_of_two(sub(e.k, const_int(1)));
  Pair sum = a.add(a.two_sum(u, real(-0.5)), a.scale(e.p, u));
  return select(less(magnitude(x), real(0x1p-54)), x, mul(a.value(sum), real(2)));
}

/// Computes with e = e^-|x|: 1 / (1 + e), or e / (1 + e) for negative x.
Expr expand_sigmoid(const Arith &a, const Expr &x) {
  ExpParts parts = exp_parts(a, {clamp_exponent(a, unary(UnOp::neg, magnitude(x))), {}});
  Expr e = scaled(a, a.value(one_plus(a, parts.p)), parts.k);
  Expr numerator = blend(mask_of(less(x, real(0))), e, real(1));
  if (a.wide()) return binary(BinOp::true_div, numerator, add(e, real(1)));
  return a.value(a.ratio({numerator, {}}, {add(e, real(1)), {}}));
}

}  // namespace kw
