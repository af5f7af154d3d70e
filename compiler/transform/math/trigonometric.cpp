// The trigonometric functions.
#include "transform/math/functions.h"

#include <limits>

#include "transform/math/angle.h"

namespace kw {

namespace {

constexpr double sin32[] = {0.0083333333310790427, -0.00019841266916810913, 2.7555990876599883e-06,
                            -2.48056313358659e-08};
constexpr double sin64[] = {0.0083333333333333315,  -0.00019841269841265065, 2.7557319219338794e-06,
                            -2.505210623231864e-08, 1.6058531598549179e-10,  -7.5866959129987326e-13};
constexpr double cos32[] = {0.041666666664321013, -0.0013888887671943937, 2.4800600337799509e-05,
                            -2.7300954100536342e-07};
constexpr double cos64[] = {0.041666666666666664,    -0.0013888888888888887, 2.4801587301584645e-05,
                            -2.7557319221402618e-07, 2.0876755791008738e-09, -1.1470460876247423e-11,
                            4.7458712322474327e-14};

struct SineCosine {
  Pair sine, cosine;
};

/// Evaluates both series at a reduced angle. The leading terms keep their low parts in a pair; the tails are
/// polynomials in plain float64.
SineCosine sine_cosine(const Arith &a, const Pair &r) {
  Pair z = a.mul(r, r);
  Expr half = mul(z.hi, real(-0.5));
  Expr fourth = mul(z.hi, z.hi);
  Expr sine_rest = mul(fourth, a.wide() ? a.poly(sin64, z.hi) : a.poly(sin32, z.hi));
  // r (1 − z/6 + …): the low part of the cubic term matters, too
  Pair factor = a.add(a.mul(z, a.constant(-0x1.5555555555555p-3, -0x1.5555555555555p-57)), {sine_rest, {}});
  Expr cosine_tail = mul(fourth, a.wide() ? a.poly(cos64, z.hi) : a.poly(cos32, z.hi));
  if (z.lo) cosine_tail = a.mad(z.lo, real(-0.5), cosine_tail);
  Pair cosine = a.quick_sum(real(1), half);
  Expr low = cosine.lo ? add(cosine.lo, cosine_tail) : cosine_tail;
  return {a.add(r, a.mul(r, factor)), a.quick_sum(cosine.hi, low)};
}

/// Returns x with its sign flipped where bit 1 of the quadrant is set.
Expr signed_by(const Expr &quadrant, const Expr &x) {
  Expr bit = binary(BinOp::shl, binary(BinOp::bit_and, quadrant, word(2)), word(62));
  return from_word(binary(BinOp::bit_xor, bits_of(x), bit));
}

/// Picks the function of the whole angle by its quadrant. An odd quadrant exchanges sine and cosine, and bit
/// 1 flips the sign. The cosine is the sine one quadrant further; the tangent repeats after two quadrants.
Expr of_angle(const Arith &a, Fn fn, const Angle &angle) {
  SineCosine s = sine_cosine(a, angle.rest);
  Expr odd = sub(word(0), binary(BinOp::bit_and, angle.quadrant, word(1)));
  if (fn == Fn::tan) {
    Expr q = a.value(a.div(a.choose(odd, s.cosine, s.sine), a.choose(odd, s.sine, s.cosine)));
    return signed_by(binary(BinOp::bit_and, odd, word(2)), q);
  }
  Expr sine = a.value(s.sine), cosine = a.value(s.cosine);
  if (fn == Fn::sin) return signed_by(angle.quadrant, blend(odd, cosine, sine));
  return signed_by(add(angle.quadrant, word(1)), blend(odd, sine, cosine));
}

}  // namespace

Expr expand_trigonometric(const Arith &a, Fn fn, const Expr &x) {
  Expr size = magnitude(x);
  Expr ordinary = of_angle(a, fn, reduce_angle(a, x));
  if (fn != Fn::cos) ordinary = select(less(size, real(0x1p-28)), x, ordinary);
  Expr huge = of_angle(a, fn, reduce_huge_angle(a, x));
  constexpr double inf = std::numeric_limits<double>::infinity();
  Expr nan = real(std::numeric_limits<double>::quiet_NaN());
  return select(less(size, real(huge_angle)), ordinary, select(less(size, real(inf)), huge, nan));
}

}  // namespace kw
