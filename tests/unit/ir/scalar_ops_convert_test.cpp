// Conversions: rounding to the 16-bit formats (every value and every half-way case), integers to floats in
// one rounding, floats to integers saturating, and everything to and from bool.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ir/scalar_ops.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
constexpr DType integers[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                              DType::u8, DType::u16, DType::u32, DType::u64};

struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits;
};
constexpr Format half_formats[] = {{DType::f16, 5, 10}, {DType::bf16, 8, 7}};

/// The number that 16 bits stand for, from the definition of the format.
double meaning(const Format &f, uint64_t bits) {
  uint64_t mantissa = bits & ((1u << f.mantissa_bits) - 1), exponent = (bits & 0x7FFF) >> f.mantissa_bits;
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  double v;
  if (exponent == (1u << f.exponent_bits) - 1)
    v = mantissa ? nan : inf;
  else if (exponent == 0)
    v = std::ldexp(static_cast<double>(mantissa), 1 - bias - f.mantissa_bits);
  else
    v = std::ldexp(1.0 + std::ldexp(static_cast<double>(mantissa), -f.mantissa_bits),
                   static_cast<int>(exponent) - bias);
  return bits & 0x8000 ? -v : v;
}

TEST(HalfFormats, every_value_widens_exactly_and_comes_back) {
  for (const Format &f : half_formats)
    for (uint64_t bits = 0; bits < 65536; ++bits) {
      double v = to_double({f.dtype, bits}), want = meaning(f, bits);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(v)) << hex_text(bits);
        ASSERT_TRUE(std::isnan(to_double(from_double(f.dtype, v)))) << hex_text(bits);
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint64_t>(v), std::bit_cast<uint64_t>(want))
          << short_name(f.dtype) << hex_text(bits);
      ASSERT_EQ(from_double(f.dtype, v).bits, bits) << short_name(f.dtype);
    }
}

/// Between neighbours: below the middle down, above it up, in the middle to the even one; both signs.
TEST(HalfFormats, rounding_is_to_nearest_even_between_all_neighbours) {
  for (const Format &f : half_formats) {
    uint64_t infinity = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
    for (uint64_t bits = 0; bits < infinity; ++bits) {
      double low = meaning(f, bits);
      double high = bits + 1 == infinity ? 2 * low - meaning(f, bits - 1) : meaning(f, bits + 1);
      double middle = low + (high - low) / 2;
      uint64_t even = bits % 2 ? bits + 1 : bits;
      for (uint64_t sign : {uint64_t{0}, uint64_t{0x8000}}) {
        double s = sign ? -1 : 1;
        ASSERT_EQ(from_double(f.dtype, s * middle).bits, even | sign) << float_text(middle);
        ASSERT_EQ(from_double(f.dtype, s * std::nextafter(middle, 0)).bits, bits | sign)
            << float_text(middle);
        ASSERT_EQ(from_double(f.dtype, s * std::nextafter(middle, inf)).bits, (bits + 1) | sign)
            << float_text(middle);
      }
    }
  }
}

TEST(HalfFormats, overflow_underflow_and_nan) {
  EXPECT_EQ(from_double(DType::f16, 65519.999).bits, 0x7BFFu);
  EXPECT_EQ(from_double(DType::f16, 65520.0).bits, 0x7C00u);
  EXPECT_EQ(from_double(DType::f16, -1e300).bits, 0xFC00u);
  EXPECT_EQ(from_double(DType::bf16, std::numeric_limits<float>::max()).bits, 0x7F80u);
  EXPECT_EQ(from_double(DType::f16, 1e-300).bits, 0u);
  EXPECT_EQ(from_double(DType::f16, -5e-324).bits, 0x8000u);
  EXPECT_EQ(from_double(DType::f16, std::ldexp(1.0, -25)).bits, 0u);
  EXPECT_EQ(from_double(DType::f16, std::nextafter(std::ldexp(1.0, -25), 1)).bits, 1u);
  EXPECT_TRUE(std::isnan(to_double(from_double(DType::bf16, nan))));
}

TEST(Convert, narrowing_floats_rounds_once_from_the_source_type) {
  // one and a half units of float16 and a little: by way of float32 the little is lost and the tie goes down
  double v = 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  EXPECT_EQ(convert(DType::f16, from_double(DType::f64, v)).bits, 0x3C01u);
  EXPECT_EQ(
      convert(DType::bf16, from_double(DType::f64, 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40))).bits,
      0x3F81u);
  EXPECT_EQ(convert(DType::f32, from_double(DType::f64, 1e300)),
            from_float(std::numeric_limits<float>::infinity()));
  EXPECT_EQ(convert(DType::f64, from_float(0.1f)), from_double(DType::f64, static_cast<double>(0.1f)));
}

/// n rounded to `bits` significant bits, ties to even, exactly.
double rounded(uint64_t n, int bits) {
  int excess = 64 - std::countl_zero(n | 1) - bits;
  if (excess <= 0) return static_cast<double>(n);
  uint64_t unit = uint64_t{1} << excess, rest = n & (unit - 1), kept = n >> excess;
  if (rest > unit / 2 || (rest == unit / 2 && kept % 2)) ++kept;
  return std::ldexp(static_cast<double>(kept), excess);
}

void check_rounding(DType to, int bits, double overflow, const Value &v) {
  bool negative = is_signed_int(v.dtype) && to_int(v) < 0;
  uint64_t magnitude = negative ? -static_cast<uint64_t>(to_int(v)) : v.bits;
  double want = rounded(magnitude, bits);
  if (want > overflow) want = inf;
  ASSERT_EQ(to_double(convert(to, v)), negative ? -want : want)
      << short_name(v.dtype) << " " << hex_text(v.bits) << " to " << short_name(to);
}

TEST(Convert, integers_to_floats_round_once) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (int i = 0; i < 20000; ++i) {
    // a pattern with a half-way tail of a random length, moved by -1, 0 or 1
    uint64_t bits = random() | (uint64_t{1} << 63);
    int tail = static_cast<int>(random() % 60);
    bits = (((bits >> tail) | 1) << tail) >> (random() % 64);
    bits += random() % 3 - 1;
    for (DType from : {DType::i64, DType::u64, DType::i32}) {
      Value v = from_int(from, static_cast<int64_t>(bits));
      check_rounding(DType::f64, 53, inf, v);
      check_rounding(DType::f32, 24, std::numeric_limits<float>::max(), v);
      check_rounding(DType::f16, 11, 65504, v);
      check_rounding(DType::bf16, 8, inf, v);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Convert, integers_whose_way_through_double_would_round_twice) {
  Value v = from_int(DType::i64, (int64_t{1} << 62) + (int64_t{1} << 38) + 1);
  EXPECT_EQ(to_double(convert(DType::f32, v)), std::ldexp(1.0, 62) + std::ldexp(1.0, 39));
  EXPECT_EQ(
      to_double(convert(DType::bf16, from_int(DType::i64, (int64_t{1} << 62) + (int64_t{1} << 54) + 1))),
      std::ldexp(1.0, 62) + std::ldexp(1.0, 55));
  EXPECT_EQ(to_double(convert(DType::f16, from_int(DType::i64, INT64_MIN))), -inf);
}

TEST(Convert, floats_to_integers_truncate_saturate_and_map_nan_to_zero) {
  for (DType from : {DType::f32, DType::f64})
    for (DType to : integers) {
      uint32_t width = bit_width(to);
      uint64_t ones = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
      uint64_t high = is_signed_int(to) ? ones >> 1 : ones, low = is_signed_int(to) ? high + 1 : 0;
      auto bits = [&](double v) { return convert(to, from_double(from, v)).bits; };
      EXPECT_EQ(bits(nan), 0u) << short_name(to);
      EXPECT_EQ(bits(inf), high) << short_name(to);
      EXPECT_EQ(bits(-inf), low) << short_name(to);
      EXPECT_EQ(bits(1e30), high) << short_name(to);
      EXPECT_EQ(bits(-1e30), low) << short_name(to);
      EXPECT_EQ(bits(2.9), 2u) << short_name(to);
      EXPECT_EQ(bits(-0.9), 0u) << short_name(to);
      EXPECT_EQ(bits(-2.9), is_signed_int(to) ? ones - 1 : 0) << short_name(to);
      EXPECT_EQ(bits(std::ldexp(1.0, static_cast<int>(is_signed_int(to) ? width - 1 : width))), high)
          << short_name(to);
    }
}

TEST(Convert, sampled_floats_to_integers_agree_with_arithmetic_in_128_bits) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::uniform_real_distribution<double> mantissa(-2, 2);
  for (int i = 0; i < 20000; ++i) {
    double v = std::ldexp(mantissa(random), static_cast<int>(random() % 66));
    auto whole = static_cast<__int128>(v);
    for (DType to : integers) {
      __int128 one = 1, high = (one << (bit_width(to) - (is_signed_int(to) ? 1 : 0))) - 1;
      __int128 low = is_signed_int(to) ? -high - 1 : 0, want = whole > high  ? high
                                                               : whole < low ? low
                                                                             : whole;
      uint64_t mask = bit_width(to) == 64 ? ~uint64_t{0} : (uint64_t{1} << bit_width(to)) - 1;
      ASSERT_EQ(convert(to, from_double(DType::f64, v)).bits, static_cast<uint64_t>(want) & mask)
          << float_text(v) << " to " << short_name(to);
    }
  }
}

TEST(Convert, integers_wrap_and_extend_by_their_own_sign) {
  EXPECT_EQ(convert(DType::i8, from_int(DType::i64, 200)), from_int(DType::i8, -56));
  EXPECT_EQ(convert(DType::u16, from_int(DType::i8, -1)).bits, 0xFFFFu);
  EXPECT_EQ(convert(DType::i64, from_int(DType::u32, -1)).bits, 0xFFFFFFFFu);
  EXPECT_EQ(convert(DType::i64, from_int(DType::i32, -1)).bits, ~uint64_t{0});
}

TEST(Convert, to_bool_is_comparison_with_zero) {
  for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    EXPECT_EQ(convert(DType::b1, from_double(t, nan)).bits, 1u);
    EXPECT_EQ(convert(DType::b1, from_double(t, -0.0)).bits, 0u);
    EXPECT_EQ(convert(DType::b1, from_double(t, 0.25)).bits, 1u);
  }
  for (DType t : integers) {
    EXPECT_EQ(convert(DType::b1, from_int(t, 0)).bits, 0u);
    EXPECT_EQ(convert(DType::b1, from_int(t, 2)).bits, 1u);
    EXPECT_EQ(convert(t, from_int(DType::b1, 1)), from_int(t, 1));
  }
  EXPECT_EQ(convert(DType::f32, from_int(DType::b1, 1)), from_float(1));
}

}  // namespace
}  // namespace kw
