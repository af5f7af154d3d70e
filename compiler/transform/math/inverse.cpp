// The inverse trigonometric functions.
#include "transform/math/functions.h"

#include <limits>

namespace kw {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

constexpr double p32[] = {-0.33333333331440484, 0.19999998917168998,   -0.14285612502165884,
                          0.11107494879281782,  -0.090289803128685092, 0.071353070275736272,
                          -0.040431865988625131};
constexpr double p64[] = {-0.33333333333333331,  0.19999999999999804,   -0.14285714285659817,
                          0.11111111105154475,   -0.090909087534525354, 0.076922963736344496,
                          -0.066664248606346524, 0.058789287091963613,  -0.05230452144821144,
                          0.045515835236630789,  -0.034570312597006068, 0.016285480482225424};

/// Returns a constant where the mask is set, else 0.
Pair where(const Arith &a, const Expr &mask, double hi, double lo) {
  Pair c = a.constant(hi, lo);
  auto part = [&](const Expr &x) { return from_word(binary(BinOp::bit_and, bits_of(x), mask)); };
  return {part(c.hi), c.lo ? part(c.lo) : Expr{}};
}

Pair negate_where(const Arith &a, const Expr &mask, const Pair &x) { return a.choose(mask, a.negate(x), x); }

/// Returns the angle whose tangent is n / d, for 0 <= n <= d.
Pair eighth_turn(const Arith &a, const Pair &n, const Pair &d) {
  // With n / d above tan(π/8): atan(n / d) = π/4 + atan((n − d) / (n + d)). The series then converges faster.
  Expr steep = mask_of(less(mul(d.hi, real(0.41421356237309503)), n.hi));
  Pair numerator = a.choose(steep, a.subtract(n, d), n), denominator = a.choose(steep, a.add(n, d), d);
  Pair q = a.div(numerator, denominator);
  Expr z = mul(q.hi, q.hi), series = a.wide() ? a.poly(p64, z) : a.poly(p32, z);
  Expr tail = mul(mul(q.hi, z), series);
  Pair angle = a.quick_sum(q.hi, q.lo ? add(q.lo, tail) : tail);
  return a.add(where(a, steep, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55), angle);
}

/// Returns the angle of (x, y) with y >= 0, in 0 … π. x is given by its magnitude and a mask of its sign.
Pair half_turn(const Arith &a, const Pair &y, const Pair &x, const Expr &negative) {
  // With t the angle between 0 and π/4:
  //     y <= x:   t, or π − t for negative x          y > x:   π/2 − t, or π/2 + t for negative x
  Expr high = mask_of(less(x.hi, y.hi));
  Pair angle = eighth_turn(a, a.choose(high, x, y), a.choose(high, y, x));
  Pair turned = negate_where(a, binary(BinOp::bit_xor, high, negative), angle);
  Expr flat = binary(BinOp::bit_and, negative, unary(UnOp::bit_not, high));
  Pair quarter = where(a, high, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54);
  Pair half = where(a, flat, 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53);
  return a.add(a.add(quarter, half), turned);
}

/// Returns √(1 − x²).
Pair complement(const Arith &a, const Expr &x) {
  if (!a.wide()) return {call(Fn::sqrt, {mul(sub(real(1), x), add(real(1), x))}), {}};
  Pair square = a.two_product(x, x);
  return a.square_root(a.subtract({real(1), {}}, square));
}

/// The coordinates of atan2, scaled so that pairs neither overflow nor underflow; (1, 0) for the origin.
struct Ratio {
  Expr y, x;
};
Ratio scaled_ratio(const Arith &a, const Expr &y, const Expr &x) {
  Expr larger = binary(BinOp::max, y, x);
  Expr infinite = binary(BinOp::eq, larger, real(inf)), zero = binary(BinOp::eq, larger, real(0));
  auto bounded = [&](const Expr &v) {
    Expr flag = cast(DType::f64, binary(BinOp::eq, v, real(inf)));
    return select(infinite, flag, v);
  };
  auto nonzero = [&](const Expr &v) { return select(zero, real(1), v); };
  Ratio r = {bounded(y), bounded(x)};
  if (!a.wide()) return {r.y, nonzero(r.x)};
  Expr biased = cast(DType::i64, binary(BinOp::shr, bits_of(larger), word(52)));
  Expr factor = power_of_two(binary(BinOp::max, sub(const_int(1021), biased), const_int(-1022)));
  factor = select(infinite, real(1), factor);
  return {mul(r.y, factor), nonzero(mul(r.x, factor))};
}

}  // namespace

/// Returns the angle of the point (1, |x|) with the sign of x.
Expr expand_atan(const Arith &a, const Expr &x) {
  Expr size = binary(BinOp::min, magnitude(x), real(0x1p100));
  Expr angle = a.value(half_turn(a, {size, {}}, {real(1), {}}, word(0)));
  return select(less(size, real(0x1p-28)), x, copy_sign(angle, x));
}

/// Returns the angle of the point (√(1 − x²), |x|) with the sign of x.
Expr expand_asin(const Arith &a, const Expr &x) {
  Expr size = magnitude(x);
  Expr angle = a.value(half_turn(a, {size, {}}, complement(a, size), word(0)));
  return select(less(size, real(0x1p-28)), x, copy_sign(angle, x));
}

/// Returns the angle of the point (x, √(1 − x²)).
Expr expand_acos(const Arith &a, const Expr &x) {
  Expr size = magnitude(x), negative = mask_of(less(x, real(0)));
  return a.value(half_turn(a, complement(a, size), {size, {}}, negative));
}

Expr expand_atan2(const Arith &a, const Expr &y, const Expr &x) {
  Expr height = magnitude(y), width = magnitude(x);
  Ratio r = scaled_ratio(a, height, width);
  Expr negative = sub(word(0), binary(BinOp::shr, bits_of(x), word(63)));
  Expr angle = a.value(half_turn(a, {r.y, {}}, {r.x, {}}, negative));
  if (a.wide()) {  // a ratio that may be subnormal is its own angle, and is rounded once
    Expr tiny = less(r.y, mul(r.x, real(0x1p-900)));
    Expr direct = binary(BinOp::bit_and, tiny, less(real(0), height));
    direct = binary(BinOp::bit_and, direct, binary(BinOp::eq, negative, word(0)));
    angle = select(direct, binary(BinOp::true_div, height, width), angle);
  }
  return copy_sign(angle, y);
}

}  // namespace kw
