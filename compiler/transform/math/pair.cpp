// Pair arithmetic.
#include "transform/math/pair.h"

#include <vector>

namespace kw {

namespace {

constexpr double round_magic = 0x1.8p52;  // its unit in the last place is 1

/// Returns -x.
Expr negated(const Expr &x) { return unary(UnOp::neg, x); }
/// Returns a sum in which a null operand is 0 and costs no operation.
Expr plus(const Expr &a, const Expr &b) { return !a ? b : !b ? a : add(a, b); }

/// Splits x into a part of at most 26 bits and the rest, both exact.
Pair split(const Expr &x) {
  Expr c = mul(real(0x1p27 + 1), x), hi = sub(c, sub(c, x));
  return {hi, sub(x, hi)};
}

}  // namespace

Expr real(double v) { return const_float(DType::f64, v); }
Expr word(uint64_t v) { return constant(Value{DType::u64, v}); }
Expr bits_of(const Expr &x) { return call(Fn::to_bits, {x}); }
Expr from_word(const Expr &x) { return call(Fn::from_bits, {x}); }
Expr mask_of(const Expr &condition) { return sub(word(0), cast(DType::u64, condition)); }
Expr less(const Expr &a, const Expr &b) { return binary(BinOp::lt, a, b); }
Expr magnitude(const Expr &x) { return call(Fn::abs, {x}); }

/// Takes the bits in which both values differ under the mask: no ^ ((yes ^ no) & mask).
Expr blend(const Expr &mask, const Expr &yes, const Expr &no) {
  Expr no_bits = bits_of(no), differ = binary(BinOp::bit_xor, bits_of(yes), no_bits);
  return from_word(binary(BinOp::bit_xor, no_bits, binary(BinOp::bit_and, differ, mask)));
}

/// Puts n + 1023, the biased exponent, above a mantissa of zeros.
Expr power_of_two(const Expr &n) {
  return from_word(binary(BinOp::shl, cast(DType::u64, add(n, const_int(1023))), word(52)));
}

Expr copy_sign(const Expr &x, const Expr &y) {
  Expr sign = binary(BinOp::bit_and, bits_of(y), word(uint64_t{1} << 63));
  return from_word(binary(BinOp::bit_or, bits_of(magnitude(x)), sign));
}

/// Adds 1.5 · 2^52, so that the addition rounds to an integer. Its bits are then in the low mantissa, from
/// where a subtraction of words reads them.
Rounded nearest_integer(const Expr &x) {
  Expr shifted = add(x, real(round_magic));
  Expr integer = cast(DType::i64, sub(bits_of(shifted), bits_of(real(round_magic))));
  return {sub(shifted, real(round_magic)), integer};
}

/// Emits fma if the target has it; the bits of results therefore depend on the target.
Expr Arith::mad(const Expr &a, const Expr &b, const Expr &c) const {
  return fma_ ? call(Fn::fma, {a, b, c}) : kw::add(kw::mul(a, b), c);
}

/// Joins neighbouring terms with x, pairs with x², then x⁴, …: the chain of dependent operations has a length
/// of log2 of the degree.
///     c0 + c1 x + c2 x² + c3 x³   →   (c0 + c1 x) + (c2 + c3 x) x²
Expr Arith::poly(std::span<const double> coefficients, const Expr &x) const {
  std::vector<Expr> terms;
  for (double c : coefficients) terms.push_back(real(c));
  for (Expr power = x; terms.size() > 1; power = kw::mul(power, power)) {
    std::vector<Expr> pairs;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) pairs.push_back(mad(terms[i + 1], power, terms[i]));
    if (terms.size() % 2) pairs.push_back(terms.back());
    terms = std::move(pairs);
  }
  return terms[0];
}

/// Adds by Knuth's TwoSum: six operations, no condition on magnitudes.
Pair Arith::exact_sum(const Expr &a, const Expr &b) const {
  Expr s = kw::add(a, b), from_b = sub(s, a), from_a = sub(s, from_b);
  return {s, kw::add(sub(a, from_a), sub(b, from_b))};
}

Pair Arith::two_sum(const Expr &a, const Expr &b) const {
  return wide_ ? exact_sum(a, b) : Pair{kw::add(a, b), {}};
}

/// Adds by Dekker's Fast2Sum: three operations.
Pair Arith::quick_sum(const Expr &a, const Expr &b) const {
  Expr s = kw::add(a, b);
  return {s, wide_ ? sub(b, sub(s, a)) : Expr{}};
}

/// Returns a * b - product exactly. Without fma, both factors are split into halves whose products are exact
/// (Dekker's product).
Expr Arith::product_error(const Expr &a, const Expr &b, const Expr &product) const {
  if (fma_) return call(Fn::fma, {a, b, negated(product)});
  Pair x = split(a), y = split(b);
  Expr e = sub(kw::mul(x.hi, y.hi), product);
  e = kw::add(kw::add(e, kw::mul(x.hi, y.lo)), kw::mul(x.lo, y.hi));
  return kw::add(e, kw::mul(x.lo, y.lo));
}

Pair Arith::two_product(const Expr &a, const Expr &b) const {
  Expr p = kw::mul(a, b);
  return {p, wide_ ? product_error(a, b, p) : Expr{}};
}

/// Adds the high parts exactly and the low parts once, then renormalizes the pair.
Pair Arith::add(const Pair &a, const Pair &b) const {
  Pair s = two_sum(a.hi, b.hi);
  return wide_ ? quick_sum(s.hi, plus(s.lo, plus(a.lo, b.lo))) : s;
}

/// Omits the product of the low parts, which is below the accuracy of a pair.
Pair Arith::mul(const Pair &a, const Pair &b) const {
  Pair p = two_product(a.hi, b.hi);
  if (!wide_ || (!a.lo && !b.lo)) return p;
  Expr low = p.lo;
  if (b.lo) low = mad(a.hi, b.lo, low);
  if (a.lo) low = mad(a.lo, b.hi, low);
  return quick_sum(p.hi, low);
}

/// Divides the high parts, then divides what is left, a - q b, once more.
Pair Arith::div(const Pair &a, const Pair &b) const {
  Expr q = binary(BinOp::true_div, a.hi, b.hi);
  if (!wide_) return {q, {}};
  Pair p = two_product(q, b.hi);
  Expr rest = plus(sub(sub(a.hi, p.hi), p.lo), a.lo);
  if (b.lo) rest = mad(negated(q), b.lo, rest);
  return quick_sum(q, binary(BinOp::true_div, rest, b.hi));
}

/// Approximates 1 / b by a difference of bits, to 0.051. Each step cubes the error, so that 2^-38 is left.
Pair Arith::ratio(const Pair &a, const Pair &b) const {
  if (wide_) return div(a, b);
  Expr inverse = from_word(sub(word(0x7FDE623822FC16E6), bits_of(b.hi)));
  for (int step = 0; step < 2; ++step) {
    Expr missing = mad(negated(b.hi), inverse, real(1));
    inverse = mad(inverse, mad(missing, missing, missing), inverse);
  }
  return {kw::mul(a.hi, inverse), {}};
}

/// Corrects the root s of the high part by one Newton step, (a - s²) / 2s. For s = 0 the divisor is 1, since
/// 0 / 0 would make NaN.
Pair Arith::square_root(const Pair &a) const {
  Expr s = call(Fn::sqrt, {a.hi});
  if (!wide_) return {s, {}};
  Pair p = two_product(s, s);
  Expr rest = plus(sub(sub(a.hi, p.hi), p.lo), a.lo);
  Expr divisor = select(binary(BinOp::eq, s, real(0)), real(1), kw::add(s, s));
  return quick_sum(s, binary(BinOp::true_div, rest, divisor));
}

Pair Arith::negate(const Pair &a) const { return {negated(a.hi), a.lo ? negated(a.lo) : Expr{}}; }

Pair Arith::scale(const Pair &a, const Expr &factor) const {
  return {kw::mul(a.hi, factor), a.lo ? kw::mul(a.lo, factor) : Expr{}};
}

/// A missing low part becomes 0 if the other pair has one.
Pair Arith::choose(const Expr &mask, const Pair &yes, const Pair &no) const {
  auto low = [](const Expr &x) { return x ? x : real(0); };
  bool has_low = yes.lo || no.lo;
  return {blend(mask, yes.hi, no.hi), has_low ? blend(mask, low(yes.lo), low(no.lo)) : Expr{}};
}

}  // namespace kw
