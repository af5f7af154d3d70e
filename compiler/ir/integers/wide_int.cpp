// Arithmetic of constants in 128 bits.
#include "ir/integers/wide_int.h"

#include <bit>
#include <cmath>

namespace kw {

__extension__ typedef unsigned __int128 Magnitude;

WideInt wide_value(const Value &v) {
  return v.dtype == DType::u64 ? static_cast<WideInt>(v.bits) : static_cast<WideInt>(to_int(v));
}

std::optional<Value> narrowed(WideInt v) {
  if (v < INT64_MIN || v > static_cast<WideInt>(UINT64_MAX)) return std::nullopt;
  return Value{v > INT64_MAX ? DType::u64 : DType::i64, static_cast<uint64_t>(v)};
}

static Magnitude magnitude(WideInt v) {
  return v < 0 ? -static_cast<Magnitude>(v) : static_cast<Magnitude>(v);
}

double wide_quotient(WideInt a, WideInt b) {
  Magnitude x = magnitude(a), y = magnitude(b);
  if (x == 0) return (a < 0) != (b < 0) ? -0.0 : 0.0;
  int shift = 64 + std::countl_zero(static_cast<uint64_t>(x));
  x <<= shift;
  // at least 64 bits of the quotient; the last bit records whether further bits were lost
  double q = std::ldexp(static_cast<double>(x / y | (x % y != 0)), -shift);
  return (a < 0) != (b < 0) ? -q : q;
}

WideInt wide_floor_div(WideInt a, WideInt b) {
  WideInt q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::optional<WideInt> wide_product(WideInt a, WideInt b) {
  WideInt out;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

std::optional<WideInt> wide_power(WideInt base, WideInt n) {
  if (base == 0 || base == 1 || n == 0) return n == 0 ? 1 : base;
  if (base == -1) return n % 2 == 0 ? 1 : -1;
  std::optional<WideInt> out = 1;
  for (; out && n > 0; --n) out = wide_product(*out, base);  // ends after 127 steps
  return out;
}

std::optional<WideInt> wide_shl(WideInt a, WideInt count) {
  if (a == 0) return a;
  return count < 64 ? wide_product(a, WideInt{1} << static_cast<int>(count)) : std::nullopt;
}

WideInt wide_shr(WideInt a, WideInt count) { return a >> static_cast<int>(count < 127 ? count : 127); }

}  // namespace kw
