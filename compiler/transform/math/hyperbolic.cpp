// The hyperbolic functions.
#include "transform/math/functions.h"

#include "transform/math/exponential.h"

namespace kw {

namespace {

constexpr double cosh32[] = {0.041666666681619148, 0.0013888866486927423, 2.4851298101976023e-05};
constexpr double cosh64[] = {0.041666666666666664, 0.0013888888888886552, 2.4801587317144498e-05,
                             2.7557282969549951e-07, 2.0911236630261545e-09};
constexpr double sinh32[] = {0.16666666666662583, 0.0083333333442095064, 0.00019841224581544105,
                             2.7617576848354131e-06};
constexpr double sinh64[] = {0.16666666666666666,    0.0083333333333333332,  0.00019841269841263298,
                             2.7557319247218731e-06, 2.5052071094293548e-08, 1.6086627956780369e-10};

/// cosh x = cosh · 2^(k−1) and sinh x = sinh · 2^(k−1) for x >= 0.
struct Scaled {
  Expr k;
  Pair cosh, sinh;
};

/// Splits x into k · ln 2 + r and evaluates the series of both functions at r. With d = 2^(−2k), the addition
/// theorems give
///     cosh = cosh r · (1 + d) + sinh r · (1 − d)          sinh = cosh r · (1 − d) + sinh r · (1 + d)
Scaled scaled_functions(const Arith &a, const Expr &x) {
  Rounded k = nearest_integer(mul(x, real(1.4426950408889634)));
  Expr high = sub(x, mul(k.value, real(0x1.62e42fefa38p-1)));
  Pair r = a.two_sum(high, mul(k.value, real(-0x1.ef35793c7673p-45)));
  Pair z = a.mul(r, r);
  Expr cosh_tail = mul(mul(z.hi, z.hi), a.wide() ? a.poly(cosh64, z.hi) : a.poly(cosh32, z.hi));
  Expr sinh_tail = mul(mul(r.hi, z.hi), a.wide() ? a.poly(sinh64, z.hi) : a.poly(sinh32, z.hi));
  Pair c = a.add({real(1), {}}, a.add(a.scale(z, real(0.5)), {cosh_tail, {}}));
  Pair s = a.add(r, {sinh_tail, {}});
  // the limit of 200 keeps the exponent within what power_of_two takes
  Expr down = power_of_two(mul(binary(BinOp::min, k.integer, const_int(200)), const_int(-2)));
  Pair even = a.two_sum(real(1), down), odd = a.two_sum(real(1), unary(UnOp::neg, down));
  return {k.integer, a.add(a.mul(c, even), a.mul(s, odd)), a.add(a.mul(c, odd), a.mul(s, even))};
}

}  // namespace

/// Returns e / (e + 2) with e = e^(2x) - 1, of which float64 keeps the low bits that float32 needs.
static Expr short_tanh(const Arith &a, const Expr &x) {
  Expr size = magnitude(x), y = binary(BinOp::min, size, real(12));
  ExpParts parts = exp_parts(a, {add(y, y), {}});
  Expr power = power_of_two(parts.k), e = a.mad(parts.p.hi, power, sub(power, real(1)));
  Expr result = a.value(a.ratio({e, {}}, {add(e, real(2)), {}}));
  return select(less(size, real(0x1p-28)), x, copy_sign(result, x));
}

/// Computes with |x| and restores the sign, since sinh and tanh are odd and cosh is even. A tiny argument of
/// an odd function is its result.
Expr expand_hyperbolic(const Arith &a, Fn fn, const Expr &x) {
  if (fn == Fn::tanh && !a.wide()) return short_tanh(a, x);
  double top = fn == Fn::tanh ? 24 : a.wide() ? 710.6 : 90;
  Expr size = magnitude(x);
  Scaled h = scaled_functions(a, binary(BinOp::min, size, real(top)));
  Expr quarter = power_of_two(sub(h.k, const_int(2)));  // 2^(k−1) may overflow although the result does not
  auto unscaled = [&](const Pair &v) { return mul(mul(a.value(v), quarter), real(2)); };
  if (fn == Fn::cosh) return unscaled(h.cosh);
  Expr result = fn == Fn::tanh ? a.value(a.div(h.sinh, h.cosh)) : unscaled(h.sinh);
  return select(less(size, real(0x1p-28)), x, copy_sign(result, x));
}

}  // namespace kw
