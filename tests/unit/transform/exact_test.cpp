// The exact functions as IR agree with the C library and with scalar_ops, also on targets that have no
// instruction to round.
#include "transform/math/exact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "codegen/interp/interp.h"
#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "transform/math/expand.h"

namespace kw {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

std::vector<double> samples() {
  std::vector<double> out = {0,   0.25, 0.5,          0.75,   1,      1.5,   2.5,
                             3.5, 1e10, 0x1p22 + 0.5, 0x1p23, 0x1p52, 1e300, inf};
  out.insert(out.end(), {0x1p51 + 0.5, 0x1p52 - 0.5, 4.9e-324, 1 - 0x1p-53, 0.5 - 0x1p-54, 0.5 + 0x1p-53});
  for (size_t i = 0, n = out.size(); i < n; ++i) out.push_back(-out[i]);
  return out;
}

TEST(ExpandExact, rounding_without_an_instruction_is_that_of_the_library) {
  for (DType t : {DType::f32, DType::f64})
    for (Fn fn : {Fn::floor, Fn::ceil, Fn::trunc, Fn::round})
      for (double v : samples()) {
        Value x = from_double(t, v);
        Expr e = expand_rounding(fn, constant(x), unit::without_fma());
        EXPECT_EQ(evaluate(e), apply(fn, std::span<const Value>(&x, 1)))
            << row_of(fn).name << "(" << float_text(v) << ") " << short_name(t);
      }
  Expr nan = const_float(DType::f32, std::nan(""));
  EXPECT_TRUE(std::isnan(to_double(evaluate(expand_rounding(Fn::ceil, nan, unit::without_fma())))));
}

TEST(ExpandExact, rounding_with_an_instruction_stays_a_call) {
  Expr x = kw::ref(make_sym(SymKind::param, DType::f32, "x"));
  EXPECT_TRUE(as<Call>(expand_rounding(Fn::ceil, x, unit::with_fma())));
  Expr without = expand_rounding(Fn::ceil, x, unit::without_fma());
  EXPECT_FALSE(as<Call>(without) && as<Call>(without)->fn == Fn::ceil);
}

TEST(ExpandExact, sign_of_floats_and_integers) {
  auto sign = [](Value v) { return evaluate(expand_sign(constant(v))); };
  EXPECT_EQ(sign(from_double(DType::f64, -0.0)), from_double(DType::f64, 0.0));
  EXPECT_EQ(sign(from_double(DType::f32, -inf)), from_double(DType::f32, -1));
  EXPECT_EQ(sign(from_double(DType::f32, 4.9e-40)), from_double(DType::f32, 1));
  EXPECT_TRUE(std::isnan(to_double(sign(from_double(DType::f64, std::nan(""))))));
  EXPECT_EQ(sign(from_int(DType::i8, -128)), from_int(DType::i8, -1));
  EXPECT_EQ(sign(from_int(DType::u8, 200)), from_int(DType::u8, 1));
  EXPECT_EQ(sign(from_int(DType::i64, 0)), from_int(DType::i64, 0));
}

TEST(ExpandExact, remainders_and_quotients_of_all_bytes) {
  for (int x = -128; x < 128; ++x)
    for (int y = -128; y < 128; ++y) {
      Value a = from_int(DType::i8, x), b = from_int(DType::i8, y);
      std::vector<Value> both = {a, b};
      Expr p = constant(a), q = constant(b);
      ASSERT_EQ(evaluate(expand_integer_fmod(p, q)).bits, from_int(DType::i8, y == 0 ? 0 : x % y).bits);
      ASSERT_EQ(evaluate(expand_integer_fmod(p, q)), apply(Fn::fmod, std::span<const Value>(both)));
      auto up = static_cast<int64_t>(y == 0 ? 0 : std::ceil(static_cast<double>(x) / y));
      ASSERT_EQ(evaluate(expand_ceil_div(p, q)), from_int(DType::i8, up)) << x << " " << y;
    }
}

TEST(ExpandExact, ceil_div_of_floats) {
  auto quotient = [](double x, double y) {
    return to_double(evaluate(expand_ceil_div(const_float(DType::f64, x), const_float(DType::f64, y))));
  };
  EXPECT_EQ(quotient(7, 2), 4);
  EXPECT_EQ(quotient(-7, 2), -3);
  EXPECT_EQ(quotient(7, 0), inf);
}

TEST(ExpandExact, integer_powers_wrap_and_negative_exponents_truncate) {
  auto power = [](DType t, int64_t x, int64_t y) {
    return to_int(evaluate(expand_integer_power(constant(from_int(t, x)), constant(from_int(t, y)))));
  };
  EXPECT_EQ(power(DType::i64, 3, 39), 4052555153018976267);
  EXPECT_EQ(power(DType::i64, -2, 63), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(power(DType::i64, 2, 64), 0);
  EXPECT_EQ(power(DType::i32, 0, 0), 1);
  EXPECT_EQ(power(DType::i32, 3, -1), 0);
  EXPECT_EQ(power(DType::i32, -1, -3), -1);
  EXPECT_EQ(power(DType::i32, -1, -4), 1);
  EXPECT_EQ(power(DType::i32, 1, -5), 1);
  EXPECT_EQ(power(DType::u8, 3, 255), 171);  // 3^255 modulo 256
  EXPECT_EQ(power(DType::i32, 7, 2147483647), -1227133513);
}

TEST(ExpandExact, classes_of_integers_are_constant) {
  Expr i = kw::ref(make_sym(SymKind::param, DType::i32, "i"));
  EXPECT_EQ(as_int(expand_class(Fn::isnan, i)), 0);
  EXPECT_EQ(as_int(expand_class(Fn::isinf, i)), 0);
  EXPECT_EQ(as_int(expand_class(Fn::isfinite, i)), 1);
}

}  // namespace
}  // namespace kw
