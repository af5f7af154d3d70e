// Exact definitions of scalar arithmetic; see scalar_ops.h for the rules.
#include "ir/scalar_ops.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ir/integers/integer_ops.h"
#include "support/diagnostic.h"

namespace kw {

namespace {

/// Returns the bits of the 16-bit float with `exponent_bits` and `mantissa_bits` nearest to v (ties to even).
/// NaNs become quiet and keep the leading bits of their payload, as all machines convert them.
uint64_t narrow(double v, int exponent_bits, int mantissa_bits) {
  uint64_t sign = std::signbit(v) ? uint64_t{1} << 15 : 0;
  uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  if (std::isnan(v)) {
    uint64_t payload = std::bit_cast<uint64_t>(v) << 12 >> (64 - mantissa_bits);
    return sign | infinity | (uint64_t{1} << (mantissa_bits - 1)) | payload;
  }
  v = std::fabs(v);
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = v == 0 || std::isinf(v) ? 1 - bias : std::ilogb(v);
  if (std::isinf(v) || exponent > bias) return sign | infinity;
  if (exponent < 1 - bias) exponent = 1 - bias;
  // units of the last place; nearbyint rounds ties to even, and the addition carries into the exponent
  auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(v, mantissa_bits - exponent)));
  uint64_t biased = static_cast<uint64_t>(exponent + bias - 1);
  return sign | ((biased << mantissa_bits) + units);
}

/// Returns the value of a float16; NaNs become quiet and keep their payload.
double widen(uint64_t bits) {
  constexpr int exponent_bits = 5, mantissa_bits = 10;
  uint64_t mantissa = bits & ((uint64_t{1} << mantissa_bits) - 1);
  auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1u << exponent_bits) - 1));
  int bias = (1 << (exponent_bits - 1)) - 1;
  double v;
  if (exponent == (1 << exponent_bits) - 1)
    v = std::bit_cast<double>(mantissa ? uint64_t{0x7FF8} << 48 | mantissa << (52 - mantissa_bits)
                                       : uint64_t{0x7FF} << 52);
  else if (exponent == 0)
    v = std::ldexp(static_cast<double>(mantissa), 1 - bias - mantissa_bits);
  else
    v = std::ldexp(static_cast<double>(mantissa + (uint64_t{1} << mantissa_bits)),
                   exponent - bias - mantissa_bits);
  return bits >> 15 ? -v : v;
}

template <class T>
T float_min(T a, T b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T float_max(T a, T b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// Computes quotient and remainder as numpy.floor_divide and numpy.remainder do.
template <class T>
void float_divmod(T a, T b, T &quotient, T &remainder) {
  remainder = std::fmod(a, b);
  // fmod returned NaN, which stays the remainder
  if (b == 0) {
    quotient = a / b;
    return;
  }
  quotient = (a - remainder) / b;
  if (remainder != 0) {
    // the remainder of Python has the sign of the divisor, that of C the sign of the dividend
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      quotient -= T(1);
    }
  } else {
    remainder = std::copysign(T(0), b);
  }
  if (quotient != 0) {
    T floored = std::floor(quotient);
    // the division above rounds and may end just below a whole number
    if (quotient - floored > T(0.5)) floored += T(1);
    quotient = floored;
  } else {
    quotient = std::copysign(T(0), a / b);
  }
}

template <class T>
bool compare(BinOp op, T a, T b) {
  switch (op) {
    case BinOp::lt: return a < b;
    case BinOp::le: return a <= b;
    case BinOp::eq: return a == b;
    default: return a != b;
  }
}

template <class T>
T float_binary(BinOp op, T a, T b) {
  T quotient, remainder;
  switch (op) {
    case BinOp::add: return a + b;
    case BinOp::sub: return a - b;
    case BinOp::mul: return a * b;
    case BinOp::true_div: return a / b;
    case BinOp::floor_div: return float_divmod(a, b, quotient, remainder), quotient;
    case BinOp::floor_mod: return float_divmod(a, b, quotient, remainder), remainder;
    case BinOp::min: return float_min(a, b);
    case BinOp::max: return float_max(a, b);
    default: internal_error(__FILE__, __LINE__, "bitwise operation on floats");
  }
}

Value apply_float(BinOp op, const Value &a, const Value &b) {
  // double holds every value of each float type, so that the comparison is exact
  if (op >= BinOp::lt) return wrap_integer(DType::b1, compare(op, to_double(a), to_double(b)));
  if (a.dtype == DType::f32) return from_float(float_binary(op, to_float(a), to_float(b)));
  if (a.dtype == DType::f64) return from_double(DType::f64, float_binary(op, to_double(a), to_double(b)));
  // the 16-bit formats compute in float32 and round after every operation; for + - * / this is correctly
  // rounded
  auto x = static_cast<float>(to_double(a)), y = static_cast<float>(to_double(b));
  return from_double(a.dtype, float_binary(op, x, y));
}

/// Converts to an integer: truncates toward zero and saturates; NaN gives 0.
Value saturate(DType to, double v) {
  if (std::isnan(v)) return {to, 0};
  uint32_t width = bit_width(to);
  // a power of two is exact in double, while the greatest 64-bit integer is not
  double high = std::ldexp(1.0, static_cast<int>(is_signed_int(to) ? width - 1 : width));
  double low = is_signed_int(to) ? -high : 0.0;
  v = std::trunc(v);
  if (v >= high) return {to, is_signed_int(to) ? mask_of(to) >> 1 : mask_of(to)};
  if (v <= low) return {to, is_signed_int(to) ? uint64_t{1} << (width - 1) : 0};
  if (v < 0) return from_int(to, static_cast<int64_t>(v));
  return {to, static_cast<uint64_t>(v)};
}

/// Converts an integer. float32 and narrower types must not be rounded twice through double.
Value int_to_float(DType to, const Value &a) {
  bool negative = is_signed_int(a.dtype) && to_int(a) < 0;
  uint64_t magnitude = negative ? -static_cast<uint64_t>(to_int(a)) : a.bits;
  if (to == DType::f32) {
    auto f = static_cast<float>(magnitude);
    return from_float(negative ? -f : f);
  }
  double d;
  if (to == DType::f64 || magnitude < (uint64_t{1} << 53)) {
    d = static_cast<double>(magnitude);
  } else {  // round to odd, so that the second rounding sees what was lost
    int shift = 64 - std::countl_zero(magnitude) - 53;
    uint64_t lost = magnitude & ((uint64_t{1} << shift) - 1);
    d = std::ldexp(static_cast<double>((magnitude >> shift) | (lost ? 1 : 0)), shift);
  }
  return from_double(to, negative ? -d : d);
}

}  // namespace

Value from_int(DType t, int64_t v) {
  if (is_float(t)) return int_to_float(t, Value{DType::i64, static_cast<uint64_t>(v)});
  return wrap_integer(t, v);
}

Value from_float(float v) { return {DType::f32, std::bit_cast<uint32_t>(v)}; }
float to_float(const Value &v) { return std::bit_cast<float>(static_cast<uint32_t>(v.bits)); }

Value from_double(DType t, double v) {
  switch (t) {
    case DType::f64: return {t, std::bit_cast<uint64_t>(v)};
    case DType::f32: return from_float(static_cast<float>(v));
    case DType::f16: return {t, narrow(v, 5, 10)};
    case DType::bf16: return {t, narrow(v, 8, 7)};
    default: internal_error(__FILE__, __LINE__, "from_double to a type that is no float");
  }
}

double to_double(const Value &v) {
  switch (v.dtype) {
    case DType::f64: return std::bit_cast<double>(v.bits);
    case DType::f32: return static_cast<double>(to_float(v));
    case DType::f16: return widen(v.bits);
    case DType::bf16: return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(v.bits) << 16));
    default: return is_signed_int(v.dtype) ? static_cast<double>(to_int(v)) : static_cast<double>(v.bits);
  }
}

Value apply(UnOp op, const Value &a) {
  if (op == UnOp::neg && is_float(a.dtype))
    return {a.dtype, a.bits ^ (uint64_t{1} << (bit_width(a.dtype) - 1))};
  return apply_integer(op, a);
}

Value apply(BinOp op, const Value &a, const Value &b) {
  ensure(a.dtype == b.dtype, "scalar operands of different dtypes");
  if (is_float(a.dtype)) return apply_float(op, a, b);
  ensure(is_integer_op(op, a.dtype),
         a.dtype == DType::b1 ? "arithmetic on bool" : "true division of integers");
  return apply_integer(op, a, b);
}

Value convert(DType to, const Value &a) {
  if (to == a.dtype) return a;
  // the bits are copied: on the way through double a signalling NaN would become quiet
  if (a.dtype == DType::bf16 && to == DType::f32) return {to, a.bits << 16};
  if (is_float(a.dtype)) {
    double v = to_double(a);
    if (is_float(to)) return from_double(to, v);
    return to == DType::b1 ? from_int(to, v != 0) : saturate(to, v);
  }
  return is_float(to) ? int_to_float(to, a) : convert_integer(to, a);
}

}  // namespace kw
