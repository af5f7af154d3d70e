// Conversions of 16-bit floats as words against those of scalar_ops, with and without native instructions.
#include "transform/lowering/half_floats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "codegen/interp/interp.h"
#include "ir/build.h"
#include "ir/scalar_ops.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

const Target native = {"x86_64-unknown-linux-gnu", {"avx", "f16c", "fma"}};
constexpr DType halves[] = {DType::f16, DType::bf16};

Expr word(uint64_t bits) { return constant(Value{DType::u16, bits}); }

bool is_nan(const Value &v) {
  return v.dtype == DType::f32 && std::isnan(std::bit_cast<float>(uint32_t(v.bits)));
}

TEST(HalfFloats, widening_is_exact_and_narrowing_takes_it_back) {
  for (const Target &target : {native, unit::with_fma()})
    for (DType half : halves)
      for (uint64_t bits = 0; bits < 0x10000; bits += static_cast<uint64_t>(unit::every_nth) * 3 - 2) {
        HalfFloats words(target);
        Value wide = evaluate(words.widen(half, word(bits))), expected = convert(DType::f32, {half, bits});
        ASSERT_EQ(is_nan(wide), is_nan(expected)) << bits;
        if (is_nan(wide)) continue;
        ASSERT_EQ(wide.bits, expected.bits) << bits;
        ASSERT_EQ(evaluate(words.narrow(half, constant(wide))).bits, bits);
      }
}

TEST(HalfFloats, every_number_is_rounded_once) {
  SCOPED_TRACE(unit::seed());
  unit::Random random(unit::seed());
  HalfFloats words(unit::with_fma());
  for (DType from : {DType::f32, DType::f64, DType::i16, DType::i32, DType::u32, DType::i64, DType::u64})
    for (DType half : halves)
      for (int n = 0; n < 2000 / unit::every_nth; ++n) {
        uint64_t bits = random() >> random() % 64;
        if (from == DType::f64)
          bits =
              std::bit_cast<uint64_t>(std::ldexp(1.0 + double(bits % 9999) / 9999, int(random() % 60) - 30));
        Value x = convert(from, {from == DType::f32   ? DType::u32
                                 : from == DType::f64 ? DType::f64
                                                      : DType::u64,
                                 bits});
        Expr converted = words.convert(from, half, constant(x), {});
        ASSERT_EQ(evaluate(converted).bits, convert(half, x).bits) << bits;
      }
}

TEST(HalfFloats, ties_go_to_even_and_overflow_to_infinity) {
  HalfFloats words(unit::with_fma());
  auto f16 = [&](float x) { return evaluate(words.narrow(DType::f16, const_float(DType::f32, x))).bits; };
  EXPECT_EQ(f16(1.0f + 0x1p-11f), 0x3C00u);    // between 1 and its successor: even is below
  EXPECT_EQ(f16(1.0f + 0x1.8p-10f), 0x3C02u);  // and here above
  EXPECT_EQ(f16(65519.0f), 0x7BFFu);
  EXPECT_EQ(f16(65520.0f), 0x7C00u);
  EXPECT_EQ(f16(-0x1p-24f), 0x8001u);
  EXPECT_EQ(f16(0x1p-25f), 0u);
  EXPECT_EQ(f16(-0.0f), 0x8000u);
}

TEST(HalfFloats, other_casts_are_none_of_its_business) {
  Expr x = const_int(3), other = cast(DType::f64, x);
  EXPECT_EQ(HalfFloats(native).convert(DType::i64, DType::f64, x, other).p, other.p);
}

}  // namespace
}  // namespace kw
