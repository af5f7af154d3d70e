// The functions of float32 in float32 arithmetic: exact values at zeros, infinities, NaN and subnormal
// numbers, accuracy where the forms change and where the result is small, and no float64 on the way.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "codegen/interp/interp.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/walk.h"
#include "tests/unit/helpers.h"
#include "transform/math/expand.h"

namespace kw {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), least = 0x1p-149f;
const std::vector<Fn> in_single = {Fn::log, Fn::log2, Fn::log10, Fn::tanh, Fn::erf, Fn::sigmoid};

float expanded(Fn fn, float x) {
  return static_cast<float>(
      to_double(evaluate(expand_call(fn, {const_float(DType::f32, x)}, {}, unit::with_fma()))));
}

/// In units of the last place of float32 at the true value, which is not 0.
double error_at(Fn fn, float x, double truth) {
  double unit = std::ldexp(1.0, std::max(std::ilogb(truth) - 23, -149));
  return std::abs(expanded(fn, x) - truth) / unit;
}

TEST(SingleFunctions, use_no_float64) {
  for (Fn fn : in_single) {
    Expr x = kw::ref(make_sym(SymKind::param, DType::f32, "x"));
    Expr out = expand_call(fn, {x}, {}, unit::with_fma());
    auto is_narrow = [&](const Expr &e) {
      EXPECT_TRUE(!is_float(e.dtype()) || e.dtype() == DType::f32) << row_of(fn).name;
    };
    walk(out, [&](const Cast &, const Expr &e) { is_narrow(e); });
    walk(out, [&](const Binary &, const Expr &e) { is_narrow(e); });
    walk(out, [&](const Call &, const Expr &e) { is_narrow(e); });
  }
}

TEST(SingleFunctions, nan_stays) {
  for (Fn fn : in_single) EXPECT_TRUE(std::isnan(expanded(fn, NAN))) << row_of(fn).name;
}

TEST(SingleFunctions, logarithm_at_the_ends) {
  EXPECT_EQ(expanded(Fn::log, 0.0f), -inf);
  EXPECT_EQ(expanded(Fn::log, -0.0f), -inf);
  EXPECT_EQ(expanded(Fn::log, inf), inf);
  EXPECT_EQ(expanded(Fn::log, 1), 0);
  for (float x : {-least, -1.0f, -inf}) EXPECT_TRUE(std::isnan(expanded(Fn::log, x))) << x;
  for (float x : {least, 3 * least, 0x1p-127f, 0x1.fffffcp-127f, 0x1p-126f, 0x1.fffffep127f})
    EXPECT_LE(error_at(Fn::log, x, std::log(static_cast<double>(x))), 1) << x;
}

TEST(SingleFunctions, logarithm_beside_one_keeps_its_relative_accuracy) {
  for (float x = 1, y = 1; x < 1.0001f;) {
    x = std::nextafter(x, 2.0f), y = std::nextafter(y, 0.0f);
    for (float v : {x, y}) ASSERT_LE(error_at(Fn::log, v, std::log(static_cast<double>(v))), 1) << v;
  }
}

TEST(SingleFunctions, small_arguments_keep_sign_and_accuracy) {
  for (float x : {least, 5 * least, 0x1p-127f, 0x1p-100f, 0x1p-30f, 0x1.8p-12f})
    for (float v : {x, -x}) {
      EXPECT_LE(error_at(Fn::tanh, v, std::tanh(static_cast<double>(v))), 1) << v;
      EXPECT_LE(error_at(Fn::erf, v, std::erf(static_cast<double>(v))), 1) << v;
    }
  for (Fn fn : {Fn::tanh, Fn::erf})
    for (float zero : {0.0f, -0.0f}) {
      EXPECT_EQ(expanded(fn, zero), 0);
      EXPECT_EQ(std::signbit(expanded(fn, zero)), std::signbit(zero)) << row_of(fn).name;
    }
}

TEST(SingleFunctions, large_arguments_give_the_limit) {
  for (float x : {3.92f, 10.0f, 89.0f, 1e30f, inf}) {
    EXPECT_EQ(expanded(Fn::erf, x), 1) << x;
    EXPECT_EQ(expanded(Fn::erf, -x), -1) << x;
    float y = x * 2.4f;
    EXPECT_EQ(expanded(Fn::tanh, y), 1) << y;
    EXPECT_EQ(expanded(Fn::tanh, -y), -1) << y;
    EXPECT_EQ(expanded(Fn::sigmoid, x * 5), 1) << x;
  }
  EXPECT_EQ(expanded(Fn::sigmoid, -inf), 0);
  EXPECT_EQ(expanded(Fn::sigmoid, -1e30f), 0);
}

TEST(SingleFunctions, where_the_forms_change) {
  for (float middle : {0.875f, 1.0f, 1.375f, 3.9f}) {
    float x = middle;
    for (int step = 0; step < 200; ++step) x = std::nextafter(x, 0.0f);
    for (int step = 0; step < 400; ++step, x = std::nextafter(x, 9.0f)) {
      ASSERT_LE(error_at(Fn::erf, x, std::erf(static_cast<double>(x))), 1) << x;
      ASSERT_LE(error_at(Fn::tanh, x, std::tanh(static_cast<double>(x))), 1) << x;
    }
  }
}

TEST(SingleFunctions, logarithms_where_the_power_of_two_changes) {
  for (float middle : {0x1.5561aap-1f, 0x1.555556p+0f, 0x1.5561aap+0f, 0x1.5561aap+9f}) {
    float x = middle;
    for (int step = 0; step < 200; ++step) x = std::nextafter(x, 0.0f);
    for (int step = 0; step < 400; ++step, x = std::nextafter(x, 1e9f)) {
      ASSERT_LE(error_at(Fn::log, x, std::log(static_cast<double>(x))), 1) << x;
      ASSERT_LE(error_at(Fn::log2, x, std::log2(static_cast<double>(x))), 1) << x;
      ASSERT_LE(error_at(Fn::log10, x, std::log10(static_cast<double>(x))), 1) << x;
    }
  }
  for (float x : {0x1.5557b2p+0f, 0x1.555d3ep+0f})  // log10 just below 1/8
    EXPECT_LE(error_at(Fn::log10, x, std::log10(static_cast<double>(x))), 1) << x;
}

}  // namespace
}  // namespace kw
