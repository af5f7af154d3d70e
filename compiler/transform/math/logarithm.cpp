// The logarithms.
#include "transform/math/functions.h"

#include <limits>

namespace kw {

namespace {

constexpr double p32[] = {0.4000000000061531, 0.28571427527064203, 0.22222505211939333, 0.1815506847127453,
                          0.16409004357854659};
constexpr double p64[] = {0.40000000000000002, 0.28571428571429369, 0.22222222221655541, 0.18181818335471239,
                          0.15384594954137945, 0.13334805149611875, 0.11706224135460942, 0.11723306234080849};
constexpr uint64_t root_half_bits = 0x3FE6A09E667F3BCD;

/// x = m · 2^k.
struct LogParts {
  Expr k;  ///< f64
  Pair log_m;
};

Pair log_of_mantissa(const Arith &a, const Pair &m) {
  Expr less_one = sub(m.hi, real(1));
  Pair f = m.lo ? a.two_sum(less_one, m.lo) : Pair{less_one, {}};
  Pair s = a.ratio(f, a.add(m, {real(1), {}}));
  Pair z = a.mul(s, s);
  Expr rest = mul(z.hi, a.wide() ? a.poly(p64, z.hi) : a.poly(p32, z.hi));
  Pair factor = a.add(a.constant(0x1.5555555555555p-1, 0x1.5555555555555p-55), {rest, {}});
  return a.add(a.scale(s, real(2)), a.mul(a.mul(s, z), factor));
}

/// Returns the parts of a positive normal number, whose low part may be given.
LogParts log_parts(const Arith &a, const Pair &x) {
  Expr bits = bits_of(x.hi), above = cast(DType::i64, sub(bits, word(root_half_bits)));
  Expr k = binary(BinOp::shr, above, const_int(52));
  Pair m = {from_word(sub(bits, binary(BinOp::shl, cast(DType::u64, k), word(52)))), {}};
  if (x.lo) {  // beyond 2^60 the low part has no influence
    Expr down = binary(BinOp::max, binary(BinOp::min, k, const_int(1000)), const_int(-1000));
    m.lo = mul(x.lo, power_of_two(unary(UnOp::neg, down)));
  }
  Expr as_float = sub(from_word(add(cast(DType::u64, k), bits_of(real(0x1.8p52)))), real(0x1.8p52));
  return {as_float, log_of_mantissa(a, m)};
}

/// Returns the parts of any positive finite number: scales subnormal ones first.
LogParts log_parts_of_any(const Arith &a, const Expr &x) {
  if (!a.wide()) return log_parts(a, {x, {}});
  Expr tiny = less(x, real(std::numeric_limits<double>::min()));
  LogParts parts = log_parts(a, {select(tiny, mul(x, real(0x1p54)), x), {}});
  parts.k = sub(parts.k, select(tiny, real(54), real(0)));
  return parts;
}

/// Returns k · high + k · low + log_m · factor, where k · high is exact.
Pair combined(const Arith &a, const LogParts &x, double high, double low, const Pair *factor) {
  Pair whole = {mul(x.k, real(high)), low != 0 ? mul(x.k, real(low)) : Expr{}};
  return a.add(whole, factor ? a.mul(x.log_m, *factor) : x.log_m);
}

}  // namespace

Pair log_pair(const Arith &a, const Expr &x) {
  return combined(a, log_parts_of_any(a, x), 0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45, nullptr);
}

Expr expand_logarithm(const Arith &a, Fn fn, const Expr &x) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Pair per_ln2 = a.constant(0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
  Pair per_ln10 = a.constant(0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
  bool shifted = fn == Fn::log1p;
  LogParts parts = shifted ? log_parts(a, a.exact_sum(real(1), x)) : log_parts_of_any(a, x);
  Pair sum = fn == Fn::log2    ? combined(a, parts, 1, 0, &per_ln2)
             : fn == Fn::log10 ? combined(a, parts, 0x1.34413509f78p-2, 0x1.fef311f12b358p-46, &per_ln10)
                               : combined(a, parts, 0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45, nullptr);
  Expr result = a.value(sum), lowest = real(shifted ? -1 : 0);
  if (shifted) result = select(less(magnitude(x), real(0x1p-54)), x, result);
  Expr nan = real(std::numeric_limits<double>::quiet_NaN());
  return select(less(lowest, x), select(less(x, real(inf)), result, real(inf)),
                select(binary(BinOp::eq, x, lowest), real(-inf), nan));
}

}  // namespace kw
