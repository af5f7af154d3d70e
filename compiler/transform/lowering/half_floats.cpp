// Computes the bit patterns of binary16 and bfloat16 by integer arithmetic.
#include "transform/lowering/half_floats.h"

#include "ir/build.h"
#include "ir/intrinsics.h"

namespace kw {

namespace {

Expr word32(uint32_t bits, Loc loc) { return constant({DType::u32, bits}, loc); }

/// Operators on expressions with a constant of their own type to the right.
struct Bits {
  Expr e;
  Bits with(BinOp op, uint32_t bits) const { return {binary(op, e, word32(bits, e.loc()), e.loc())}; }
  Bits with(BinOp op, const Bits &other) const { return {binary(op, e, other.e, e.loc())}; }
  Bits operator+(uint32_t bits) const { return with(BinOp::add, bits); }
  Bits operator+(const Bits &other) const { return with(BinOp::add, other); }
  Bits operator-(uint32_t bits) const { return with(BinOp::sub, bits); }
  Bits operator&(uint32_t bits) const { return with(BinOp::bit_and, bits); }
  Bits operator|(uint32_t bits) const { return with(BinOp::bit_or, bits); }
  Bits operator|(const Bits &other) const { return with(BinOp::bit_or, other); }
  Bits operator<<(uint32_t count) const { return with(BinOp::shl, count); }
  Bits operator>>(uint32_t count) const { return with(BinOp::shr, count); }
  Expr less(uint32_t bits) const { return with(BinOp::lt, bits).e; }
  Expr above(uint32_t bits) const { return binary(BinOp::lt, word32(bits, e.loc()), e, e.loc()); }
  Expr real() const { return call(Fn::from_bits, {e}, e.loc()); }
  Expr word() const { return cast(DType::u16, e, e.loc()); }
};

Bits bits_of(const Expr &x) { return {call(Fn::to_bits, {x}, x.loc())}; }
Bits choose(const Expr &cond, const Bits &yes, const Bits &no) {
  return {select(cond, yes.e, no.e, cond.loc())};
}
Expr is_nan(const Expr &x) { return binary(BinOp::ne, x, x, x.loc()); }

constexpr uint32_t f32_quiet = 0x400000, f32_infinity = 0x7F800000;
constexpr uint32_t rebias = (127 - 15) << 23;  ///< from the exponents of f16 to those of f32

/// Returns the float32 of a binary16. It computes all three classes (subnormal, normal, special) and selects
/// one, so that the code has no branch.
Expr widen_f16(const Expr &word) {
  Loc loc = word.loc();
  Bits w{cast(DType::u32, word, loc)};
  Bits sign = (w & 0x8000) << 16, magnitude = w & 0x7FFF;
  Expr unit = const_float(DType::f32, 0x1p-24, loc);
  Bits subnormal = bits_of(binary(BinOp::mul, cast(DType::f32, magnitude.e, loc), unit, loc));
  Bits normal = (magnitude << 13) + rebias;
  // the greatest exponent means infinity and NaN, which is made quiet
  Bits quiet = choose(magnitude.above(0x7C00), {word32(f32_quiet, loc)}, {word32(0, loc)});
  Bits special = ((magnitude << 13) | f32_infinity) | quiet;
  Bits large = choose(magnitude.less(0x7C00), normal, special);
  return (choose(magnitude.less(0x400), subnormal, large) | sign).real();
}

/// Rounds a float32 to binary16, half to even. A rounded magnitude beyond the largest number is infinite.
Expr narrow_f16(const Expr &x) {
  Loc loc = x.loc();
  Bits u = bits_of(x), magnitude = u & 0x7FFFFFFF;
  Bits sign = (u >> 16) & 0x8000;
  Bits nan = ((magnitude >> 13) & 0x3FF) | 0x7E00;
  // a sum with 0.5 has the unit of the subnormals, 2^-24: its low bits are their rounded number
  Expr half = const_float(DType::f32, 0.5, loc);
  Bits subnormal = bits_of(binary(BinOp::add, magnitude.real(), half, loc)) - 0x3F000000;
  Bits rounded = (magnitude - rebias + ((magnitude >> 13) & 1) + 0xFFF) >> 13;
  Bits normal = rounded.with(BinOp::min, 0x7C00);
  Bits number = choose(magnitude.less(0x38800000), subnormal, normal);
  return (choose(magnitude.above(f32_infinity), nan, number) | sign).word();
}

/// Rounds a float32 to its upper 16 bits, half to even. The quiet bit keeps a NaN from becoming infinity.
Expr narrow_bf16(const Expr &x) {
  Bits u = bits_of(x);
  Bits rounded = (u + ((u >> 16) & 1) + 0x7FFF) >> 16;
  return choose(is_nan(x), (u >> 16) | 0x40, rounded).word();
}

/// Converts f64 → f32. Inexact results get an odd last bit, so that a second rounding to fewer bits is right.
Expr round_to_odd(const Expr &x) {
  Loc loc = x.loc();
  Expr y = cast(DType::f32, x, loc), back = cast(DType::f64, y, loc);
  Expr too_far = binary(BinOp::lt, call(Fn::abs, {x}, loc), call(Fn::abs, {back}, loc), loc);
  Bits nearest = bits_of(y);
  Bits odd = Bits{binary(BinOp::sub, nearest.e, cast(DType::u32, too_far, loc), loc)} | 1;
  Expr keeps = binary(BinOp::bit_or, binary(BinOp::eq, x, back, loc), is_nan(x), loc);
  return choose(keeps, nearest, odd).real();
}

/// Converts a 64-bit integer to an f64 that rounds to few bits as the integer itself would. Beyond 2^53 the
/// low 11 bits are gathered into the bit above them.
Expr sticky_f64(const Expr &a) {
  Loc loc = a.loc();
  DType t = a.dtype();
  auto number = [&](int64_t v) { return constant(from_int(t, v), loc); };
  Expr low = binary(BinOp::add, binary(BinOp::bit_and, a, number(0x7FF), loc), number(0x7FF), loc);
  Expr gathered = binary(BinOp::bit_and, binary(BinOp::bit_or, low, a, loc), number(-0x800), loc);
  Expr large = binary(BinOp::lt, number(int64_t{1} << 53), a, loc);
  if (is_signed_int(t))
    large = binary(BinOp::bit_or, large, binary(BinOp::lt, a, number(-(int64_t{1} << 53)), loc), loc);
  return cast(DType::f64, select(large, gathered, a, loc), loc);
}

}  // namespace

/// A bfloat16 is the upper half of a float32, so a shift widens it.
Expr HalfFloats::widen(DType from, const Expr &word) const {
  if (from == DType::bf16) return (Bits{cast(DType::u32, word, word.loc())} << 16).real();
  return has_half_ ? cast(DType::f32, call(Fn::from_bits, {word}, word.loc()), word.loc()) : widen_f16(word);
}

Expr HalfFloats::narrow(DType to, const Expr &x) const {
  if (to == DType::bf16 ? has_bfloat_ : has_half_) return call(Fn::to_bits, {cast(to, x, x.loc())}, x.loc());
  return to == DType::bf16 ? narrow_bf16(x) : narrow_f16(x);
}

Expr HalfFloats::from_integer(DType from, DType to, const Expr &a) const {
  Loc loc = a.loc();
  if (bit_width(from) <= 16) return narrow(to, cast(DType::f32, a, loc));
  if (to == DType::f16) {  // beyond 65,520 all are infinite, and up to 2^17 float32 is exact
    Expr clamped = binary(BinOp::min, a, constant(from_int(from, 1 << 17), loc), loc);
    if (is_signed_int(from))
      clamped = binary(BinOp::max, clamped, constant(from_int(from, -(1 << 17)), loc), loc);
    return narrow(to, cast(DType::f32, clamped, loc));
  }
  Expr real = bit_width(from) == 64 ? sticky_f64(a) : cast(DType::f64, a, loc);
  return narrow(to, round_to_odd(real));
}

Expr HalfFloats::convert(DType from, DType to, const Expr &a, const Expr &otherwise) const {
  if (is_half(from)) {
    Expr wide = widen(from, a);
    return is_half(to) ? narrow(to, wide) : cast(to, wide, a.loc());
  }
  if (!is_half(to)) return otherwise;
  if (from == DType::f32) return narrow(to, a);
  return from == DType::f64 ? narrow(to, round_to_odd(a)) : from_integer(from, to, a);
}

}  // namespace kw
