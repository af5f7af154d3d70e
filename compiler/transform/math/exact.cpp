// The exact functions.
#include "transform/math/exact.h"

#include <limits>

namespace kw {

namespace {

/// Returns an integer as a constant of a type.
Expr whole(DType t, int64_t v) { return constant(from_int(t, v)); }

/// Copies the sign bit of `from` to a magnitude.
Expr with_sign(const Expr &magnitude, const Expr &from) {
  DType word = result_dtype(Fn::to_bits, from.dtype());
  Expr top = constant(Value{word, uint64_t{1} << (bit_width(word) - 1)});
  Expr sign = binary(BinOp::bit_and, call(Fn::to_bits, {from}), top);
  return call(Fn::from_bits, {binary(BinOp::bit_or, call(Fn::to_bits, {magnitude}), sign)});
}

/// Rounds a magnitude to an integer, half to even: adds and subtracts 2^(mantissa bits) if it is smaller.
Expr rounded_magnitude(const Expr &x) {
  Expr big = const_float(x.dtype(), x.dtype() == DType::f32 ? 0x1p23 : 0x1p52);
  Expr a = call(Fn::abs, {x});
  return select(binary(BinOp::lt, a, big), sub(add(a, big), big), a);
}

}  // namespace

/// Rounds the magnitude to nearest, corrects it by 1 in the direction of the function, and restores the sign.
/// The sign comes from the bits, so that round(-0.3) is -0.0.
Expr expand_rounding(Fn fn, const Expr &x, const Target &target) {
  if (!is_float(x.dtype())) return x;
  if (target.has_rounding()) return call(fn, {x}, x.loc());
  Expr one = whole(x.dtype(), 1), zero = whole(x.dtype(), 0), a = call(Fn::abs, {x});
  Expr nearest = rounded_magnitude(x);
  if (fn == Fn::round) return with_sign(nearest, x);
  Expr down = sub(nearest, select(binary(BinOp::lt, a, nearest), one, zero));
  if (fn == Fn::trunc) return with_sign(down, x);
  Expr up = add(nearest, select(binary(BinOp::lt, nearest, a), one, zero));
  Expr negative = binary(BinOp::lt, x, zero);
  return with_sign(fn == Fn::floor ? select(negative, up, down) : select(negative, down, up), x);
}

Expr expand_class(Fn fn, const Expr &x) {
  if (!is_float(x.dtype())) return const_bool(fn == Fn::isfinite, x.loc());
  // only a NaN differs from itself
  if (fn == Fn::isnan) return binary(BinOp::ne, x, x, x.loc());
  Expr infinity = const_float(x.dtype(), std::numeric_limits<double>::infinity());
  return binary(fn == Fn::isinf ? BinOp::eq : BinOp::lt, call(Fn::abs, {x}), infinity, x.loc());
}

Expr expand_sign(const Expr &x) {
  DType t = x.dtype();
  // `rest` is the answer if x is not positive: x itself for NaN, +0 for both zeros
  Expr zero = whole(t, 0), rest = is_float(t) ? select(binary(BinOp::eq, x, zero), zero, x) : zero;
  if (!is_unsigned_int(t)) rest = select(binary(BinOp::lt, x, zero), whole(t, -1), rest);
  return select(binary(BinOp::lt, zero, x), whole(t, 1), rest, x.loc());
}

/// Starts from the floored remainder, which has the sign of y. If that differs from the sign of x, one y less
/// gives the remainder that truncated division leaves.
Expr expand_integer_fmod(const Expr &x, const Expr &y) {
  Expr floored = binary(BinOp::floor_mod, x, y, x.loc());
  if (!is_signed_int(x.dtype())) return floored;
  Expr zero = whole(x.dtype(), 0);
  Expr differ = binary(BinOp::lt, binary(BinOp::bit_xor, x, floored), zero);
  Expr adjust = binary(BinOp::bit_and, differ, binary(BinOp::ne, floored, zero));
  return select(adjust, sub(floored, y), floored, x.loc());
}

/// Adds 1 to the floored quotient unless the division is exact.
Expr expand_ceil_div(const Expr &x, const Expr &y) {
  if (is_float(x.dtype()))
    return unary(UnOp::neg, binary(BinOp::floor_div, unary(UnOp::neg, x), y, x.loc()), x.loc());
  Expr inexact = binary(BinOp::ne, binary(BinOp::floor_mod, x, y), whole(x.dtype(), 0));
  return add(binary(BinOp::floor_div, x, y, x.loc()), cast(x.dtype(), inexact));
}

/// Uses binary exponentiation, unrolled over the bits of the exponent: a loop would be a statement.
Expr expand_integer_power(const Expr &x, const Expr &y) {
  DType t = x.dtype();
  Expr one = whole(t, 1), zero = whole(t, 0), result = one, square = x;
  int bits = static_cast<int>(bit_width(t)) - (is_signed_int(t) ? 1 : 0);
  for (int k = 0; k < bits; ++k) {
    if (k > 0) square = mul(square, square);
    Expr digit = binary(BinOp::bit_and, binary(BinOp::shr, y, whole(t, k)), one);
    result = mul(result, select(binary(BinOp::ne, digit, zero), square, one));
  }
  if (!is_signed_int(t)) return result;
  // With a negative exponent, 1 gives 1, -1 alternates between ±1, and any other base gives 0.
  Expr odd = binary(BinOp::ne, binary(BinOp::bit_and, y, one), zero);
  Expr unit = select(binary(BinOp::eq, x, one), one,
                     select(binary(BinOp::eq, x, whole(t, -1)), select(odd, x, one), zero));
  return select(binary(BinOp::lt, y, zero), unit, result, x.loc());
}

}  // namespace kw
