// The power of floats.
#include "transform/math/functions.h"

#include <limits>

#include "transform/math/exact.h"
#include "transform/math/exponential.h"

namespace kw {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

Expr is_zero_or_infinite(const Expr &size) {
  return logic(false, binary(BinOp::eq, size, real(0)), binary(BinOp::eq, size, real(inf)));
}

/// Returns |x|^y for finite positive |x|. Beyond ±10^20 all powers but those of 1 are 0 or infinite.
Expr power_of_magnitude(const Arith &a, const Expr &size, const Expr &y) {
  Expr exponent = binary(BinOp::min, binary(BinOp::max, y, real(-1e20)), real(1e20));
  Pair product = a.mul(log_pair(a, size), {exponent, {}});
  Expr clamped = clamp_exponent(a, product.hi);
  if (product.lo) product.lo = select(binary(BinOp::eq, clamped, product.hi), product.lo, real(0));
  product.hi = clamped;
  ExpParts e = exp_parts(a, product);
  return scaled(a, a.value(one_plus(a, e.p)), e.k);
}

}  // namespace

Expr expand_power(const Arith &a, const Expr &x, const Expr &y, const Target &target) {
  auto is_whole = [&](const Expr &v) { return binary(BinOp::eq, v, expand_rounding(Fn::floor, v, target)); };
  // The cases have an order: y = 0 or x = 1 gives 1, and any other NaN stays. |x| at 0 or infinity comes
  // before a negative x with a fraction in y, which gives NaN. An odd y keeps the sign of x.
  Expr size = magnitude(x), whole = is_whole(y);
  Expr odd = binary(BinOp::bit_and, whole, unary(UnOp::logical_not, is_whole(mul(y, real(0.5)))));
  Expr negative = less(x, real(0)), nan = real(std::numeric_limits<double>::quiet_NaN());
  Expr invalid = binary(BinOp::bit_and, negative, unary(UnOp::logical_not, whole));
  Expr is_inverse = binary(BinOp::eq, binary(BinOp::eq, size, real(0)), less(y, real(0)));
  Expr at_edge = select(is_inverse, real(inf), real(0));
  Expr finite = select(invalid, nan, power_of_magnitude(a, size, y));
  Expr result = select(is_zero_or_infinite(size), at_edge, finite);
  Expr sign = binary(BinOp::bit_and, bits_of(x), binary(BinOp::shl, cast(DType::u64, odd), word(63)));
  result = from_word(binary(BinOp::bit_xor, bits_of(result), sign));
  Expr one = logic(false, binary(BinOp::eq, y, real(0)), binary(BinOp::eq, x, real(1)));
  return select(one, real(1), select(binary(BinOp::eq, x, x), select(binary(BinOp::eq, y, y), result, y), x));
}

}  // namespace kw
