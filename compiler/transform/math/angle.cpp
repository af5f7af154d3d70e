// Implements both reductions.
#include "transform/math/angle.h"

#include <vector>

namespace kw {

namespace {

/// 2/π after the binary point, with one word of zeros before it.
constexpr uint64_t two_over_pi[] = {
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
};

Expr low_half(const Expr &x) { return binary(BinOp::bit_and, x, word(0xFFFFFFFF)); }
Expr high_half(const Expr &x) { return binary(BinOp::shr, x, word(32)); }
Expr as_real(const Expr &x) { return cast(DType::f64, cast(DType::i64, x)); }

/// Returns the upper 64 bits of the product of m < 2^53 and x.
Expr high_product(const Expr &m, const Expr &x) {
  Expr m_low = low_half(m), m_high = high_half(m), x_low = low_half(x), x_high = high_half(x);
  Expr middle = add(mul(m_high, x_low), high_half(mul(m_low, x_low)));
  Expr other = add(mul(m_low, x_high), low_half(middle));
  return add(mul(m_high, x_high), add(high_half(middle), high_half(other)));
}

/// Selects 64 bits of 2/π from a bit position on: words[offset + index], shifted by the rest.
class Window {
 public:
  Window(const Expr &start, size_t indices) : rest_(binary(BinOp::bit_and, start, word(63))) {
    Expr index = binary(BinOp::shr, start, word(6));
    for (size_t i = 0; i < indices; ++i) below_.push_back(less(index, word(i)));
  }
  Expr at(size_t offset) const {
    Expr upper = binary(BinOp::shl, pick(offset, 0, below_.size()), rest_);
    Expr lower = binary(BinOp::shr, pick(offset + 1, 0, below_.size()), sub(word(64), rest_));
    return binary(BinOp::bit_or, upper, lower);
  }

 private:
  Expr pick(size_t offset, size_t from, size_t to) const {
    if (to - from == 1) return word(two_over_pi[offset + from]);
    size_t middle = (from + to) / 2;
    return select(below_[middle], pick(offset, from, middle), pick(offset, middle, to));
  }

  Expr rest_;
  std::vector<Expr> below_;  ///< index < i
};

/// Returns (high + low · 2^-64) · 2^-62 · π/2 for signed high.
Pair to_angle(const Arith &a, const Expr &high, const Expr &low) {
  Expr top = mul(cast(DType::f64, binary(BinOp::shr, high, const_int(32))), real(0x1p32));
  Expr second = as_real(low_half(cast(DType::u64, high)));
  Expr third = mul(as_real(high_half(low)), real(0x1p-32));
  Pair factor = a.constant(0x1.921fb54442d18p-62, 0x1.1a62633145c07p-116);
  if (!a.wide()) return {mul(add(add(top, second), third), factor.hi), {}};
  Expr fourth = mul(as_real(low_half(low)), real(0x1p-64));
  Pair first = a.exact_sum(top, second), next = a.exact_sum(first.lo, third);
  Pair sum = a.exact_sum(first.hi, next.hi);
  return a.mul(a.quick_sum(sum.hi, add(sum.lo, add(next.lo, fourth))), factor);
}

}  // namespace

Angle reduce_angle(const Arith &a, const Expr &x) {
  constexpr double part1 = 0x1.921fb544p+0, part2 = 0x1.0b4611a6p-34, part3 = 0x1.3198a2ep-69;
  Rounded n = nearest_integer(mul(x, real(0x1.45f306dc9c883p-1)));
  auto minus_times = [&](double part) { return mul(n.value, real(-part)); };
  Expr first = add(x, minus_times(part1));
  Expr quadrant = cast(DType::u64, n.integer);
  if (!a.wide()) return {quadrant, {add(first, minus_times(part2 + part3)), {}}};
  Pair second = a.exact_sum(first, minus_times(part2));
  Pair third = a.exact_sum(second.hi, minus_times(part3));
  Expr low = add(add(second.lo, third.lo), minus_times(0x1.b839a252049c1p-104));
  return {quadrant, a.quick_sum(third.hi, low)};
}

Angle reduce_huge_angle(const Arith &a, const Expr &x) {
  Expr bits = bits_of(magnitude(x));
  Expr mantissa = binary(BinOp::bit_or, binary(BinOp::bit_and, bits, word((uint64_t{1} << 52) - 1)),
                         word(uint64_t{1} << 52));
  // x = mantissa · 2^(biased − 1075); a turn is 4 quadrants, and 64 zeros come before the point
  Expr start = sub(binary(BinOp::shr, bits, word(52)), word(1075 + 2 - 64));
  Window window(start, a.wide() ? 17 : 3);
  Expr w0 = window.at(0), w1 = window.at(1);
  Expr low = mul(mantissa, w1), high = add(mul(mantissa, w0), high_product(mantissa, w1));
  if (a.wide()) {
    Expr carried = add(low, high_product(mantissa, window.at(2)));
    high = add(high, cast(DType::u64, less(carried, low)));
    low = carried;
  }
  Expr quadrant = binary(BinOp::shr, add(high, word(uint64_t{1} << 61)), word(62));
  Expr rest = cast(DType::i64, sub(high, binary(BinOp::shl, quadrant, word(62))));
  Expr negative = mask_of(less(x, real(0)));
  Pair angle = a.scale(to_angle(a, rest, low), copy_sign(real(1), x));
  return {sub(binary(BinOp::bit_xor, quadrant, negative), negative), angle};
}

}  // namespace kw
