// The expansion of exp: at most 1 ULP from the true value, exact special values, the same with and without
// fma.
#include "transform/math/exp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "codegen/interp/interp.h"
#include "ir/intrinsics.h"
#include "ir/print.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "transform/math/expand.h"

namespace kw {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

Value expanded(DType t, double x, const Target &target) {
  return evaluate(expand_call(Fn::exp, {const_float(t, x)}, {}, target));
}

/// Distance from the true value in units of the last place of the result's format there.
double error_in_ulp(const Value &got, long double truth) {
  bool is_f32 = got.dtype == DType::f32;
  int digits = is_f32 ? 24 : 53, least = is_f32 ? -149 : -1074;
  int exponent = std::max(std::ilogb(truth) - digits + 1, least);
  return static_cast<double>(std::abs(static_cast<long double>(to_double(got)) - truth) /
                             std::ldexp(1.0L, exponent));
}

void check_sample(DType t, double x, const Target &target) {
  double v = to_double(from_double(t, x));
  long double truth = std::exp(static_cast<long double>(v));
  ASSERT_LE(error_in_ulp(expanded(t, v, target), truth), 1.0) << "exp(" << float_text(v) << ")";
}

void check_accuracy(DType t, double low, double high, int count) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::uniform_real_distribution<double> whole(low, high);
  for (const Target &target : {unit::with_fma(), unit::without_fma()})
    for (int i = 0; i < count / unit::every_nth; ++i) {
      double x = whole(random);
      if (i % 4 == 1) x = std::ldexp(x, -static_cast<int>(random() % 60));  // small arguments
      if (i % 4 == 2) x = (std::floor(x) + 0.5) * 0.6931471805599453;       // where k changes
      check_sample(t, x, target);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(ExpandExp, float32_is_within_one_ulp) { check_accuracy(DType::f32, -103.9, 88.72, 100000); }
TEST(ExpandExp, float64_is_within_one_ulp) { check_accuracy(DType::f64, -745.1, 709.78, 30000); }

TEST(ExpandExp, results_that_are_subnormal_are_within_one_ulp) {
  for (const Target &target : {unit::with_fma(), unit::without_fma()}) {
    for (double x = -87.0; x > -103.9; x -= 0.01) check_sample(DType::f32, x, target);
    for (double x = -708.0; x > -745.1; x -= 0.05) check_sample(DType::f64, x, target);
  }
}

TEST(ExpandExp, an_instruction_for_powers_of_two_changes_no_bit) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  Target scales = unit::with_fma();
  scales.features.insert(std::upper_bound(scales.features.begin(), scales.features.end(), "avx512f"),
                         "avx512f");
  ASSERT_TRUE(scales.has_scale() && !unit::with_fma().has_scale());
  std::uniform_real_distribution<double> whole(-760, 720), small(-106, 90);
  for (int i = 0; i < 20000 / unit::every_nth; ++i) {
    double x = i % 50 ? whole(random) : i % 3 ? inf : -inf;
    EXPECT_EQ(expanded(DType::f64, x, scales), expanded(DType::f64, x, unit::with_fma())) << x;
    double y = small(random);
    EXPECT_EQ(expanded(DType::f32, y, scales), expanded(DType::f32, y, unit::with_fma())) << y;
  }
}

TEST(ExpandExp, special_values) {
  for (const Target &target : {unit::with_fma(), unit::without_fma()})
    for (DType t : {DType::f32, DType::f64}) {
      EXPECT_EQ(expanded(t, 0.0, target), from_double(t, 1)) << short_name(t);
      EXPECT_EQ(expanded(t, -0.0, target), from_double(t, 1)) << short_name(t);
      EXPECT_EQ(expanded(t, inf, target), from_double(t, inf)) << short_name(t);
      EXPECT_EQ(expanded(t, -inf, target), from_double(t, 0)) << short_name(t);
      EXPECT_EQ(expanded(t, -10000, target), from_double(t, 0)) << short_name(t);
      EXPECT_EQ(expanded(t, 10000, target), from_double(t, inf)) << short_name(t);
      EXPECT_TRUE(std::isnan(to_double(expanded(t, std::numeric_limits<double>::quiet_NaN(), target))));
    }
}

TEST(ExpandExp, the_ends_of_the_range) {
  for (const Target &target : {unit::with_fma(), unit::without_fma()}) {
    EXPECT_TRUE(std::isfinite(to_double(expanded(DType::f32, 88.72283, target))));
    EXPECT_EQ(to_double(expanded(DType::f32, 88.7229, target)), inf);
    EXPECT_TRUE(std::isfinite(to_double(expanded(DType::f64, 709.782712893384, target))));
    EXPECT_EQ(to_double(expanded(DType::f64, 709.7827128933841, target)), inf);
    EXPECT_EQ(expanded(DType::f32, -103.97, target).bits, 1u);
    EXPECT_EQ(expanded(DType::f32, -103.98, target).bits, 0u);
    EXPECT_EQ(expanded(DType::f64, -745.13, target).bits, 1u);
    EXPECT_EQ(expanded(DType::f64, -745.14, target).bits, 0u);
  }
}

TEST(ExpandExp, is_monotone_around_the_changes_of_k) {
  for (int k = -20; k < 20; ++k) {
    auto x = static_cast<float>((k + 0.5) * 0.6931471805599453);
    for (int step = 0; step < 50; ++step) x = std::nextafter(x, -1000.0f);
    double last = 0;
    for (int step = 0; step < 100; ++step, x = std::nextafter(x, 1000.0f)) {
      double y = to_double(expanded(DType::f32, x, unit::with_fma()));
      EXPECT_GE(y, last * (1 - 0x1p-23)) << x;
      last = y;
    }
  }
}

TEST(ExpandMath, uses_fma_only_where_the_target_has_it) {
  Func f = unit::ir(
      "def f(x: scalar(f64), c: out(f64, ())):\n  fp('strict')\n  dims()\n  c[()] = exp(x)\n  return c\n");
  std::string with = print(expand_math(f, unit::with_fma())),
              without = print(expand_math(f, unit::without_fma()));
  EXPECT_NE(with.find("fma("), std::string::npos);
  EXPECT_EQ(without.find("fma("), std::string::npos);
  EXPECT_EQ(with.find("exp("), std::string::npos);
}

TEST(ExpandMath, functions_with_an_instruction_stay) {
  Expr x = kw::ref(make_sym(SymKind::param, DType::f64, "x"));
  EXPECT_EQ(print(expand_call(Fn::sqrt, {x}, {}, unit::with_fma())), "sqrt(x)");
  EXPECT_EQ(print(expand_call(Fn::abs, {x}, {}, unit::with_fma())), "abs(x)");
}

}  // namespace
}  // namespace kw
