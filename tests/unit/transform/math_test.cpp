// The expansions of the elementary functions: within 1 ULP (rsqrt 2, sigmoid 3) of the long double functions
// of the C library, for targets with and without fma; values at zeros and infinities.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "codegen/interp/interp.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/intrinsics.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "transform/math/expand.h"

namespace kw {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
using Real = long double;

struct Row {
  Fn fn;
  double low, high;
  std::function<Real(Real)> truth;
  double bound = 1;
};

const std::vector<Row> &rows() {
  static const std::vector<Row> table = {
      {Fn::rsqrt, 1e-3, 1e3, [](Real x) { return 1 / std::sqrt(x); }, 2},
      {Fn::exp2, -1074, 1024, [](Real x) { return std::exp2(x); }},
      {Fn::expm1, -40, 88, [](Real x) { return std::expm1(x); }},
      {Fn::sigmoid, -740, 40, [](Real x) { return 1 / (1 + std::exp(-x)); }, 3},
      {Fn::log, 0, 1e3, [](Real x) { return std::log(x); }},
      {Fn::log2, 0, 1e3, [](Real x) { return std::log2(x); }},
      {Fn::log10, 0, 1e3, [](Real x) { return std::log10(x); }},
      {Fn::log1p, -1, 10, [](Real x) { return std::log1p(x); }},
      {Fn::sin, -1e3, 1e3, [](Real x) { return std::sin(x); }},
      {Fn::cos, -1e3, 1e3, [](Real x) { return std::cos(x); }},
      {Fn::tan, -1e3, 1e3, [](Real x) { return std::tan(x); }},
      {Fn::asin, -1, 1, [](Real x) { return std::asin(x); }},
      {Fn::acos, -1, 1, [](Real x) { return std::acos(x); }},
      {Fn::atan, -10, 10, [](Real x) { return std::atan(x); }},
      {Fn::sinh, -80, 80, [](Real x) { return std::sinh(x); }},
      {Fn::cosh, -80, 80, [](Real x) { return std::cosh(x); }},
      {Fn::tanh, -20, 20, [](Real x) { return std::tanh(x); }},
      {Fn::erf, -6, 6, [](Real x) { return std::erf(x); }},
      {Fn::erfc, -6, 27, [](Real x) { return std::erfc(x); }},
  };
  return table;
}

double expanded(Fn fn, DType t, std::vector<double> x, const Target &target) {
  std::vector<Expr> args;
  for (double v : x) args.push_back(const_float(t, v));
  return to_double(evaluate(expand_call(fn, args, {}, target)));
}

/// Distance from the true value in units of the last place of the result's format there.
double error_in_ulp(DType t, double got, Real truth) {
  int digits = t == DType::f32 ? 24 : 53, least = t == DType::f32 ? -149 : -1074,
      top = t == DType::f32 ? 128 : 1024;
  if (std::isinf(got)) got = 0, truth = std::abs(truth) >= std::ldexp(1.0L, top) ? 0 : inf;
  int exponent = truth == 0 ? least : std::max(std::ilogb(truth) - digits + 1, least);
  return static_cast<double>(std::abs(got - truth) / std::ldexp(1.0L, exponent));
}

double rounded(DType t, double x) { return to_double(from_double(t, x)); }

void check_row(const Row &row, DType t, const Target &target) {
  unit::Random random(unit::seed());
  std::uniform_real_distribution<double> whole(row.low, row.high);
  bool signed_range = row.low < 0;
  for (int i = 0; i < 400 / unit::every_nth; ++i) {
    double x = whole(random);
    if (i % 4 == 1) x = std::ldexp(x, -static_cast<int>(random() % 60));       // small arguments
    if (i % 4 == 2 && t == DType::f64) x = std::ldexp(std::fmod(x, 1), -200);  // tiny ones
    if (i % 4 == 3) x = std::nextafter(signed_range ? std::round(x) : 1 + std::round(x), whole(random));
    x = rounded(t, std::clamp(x, row.low, row.high));
    double got = expanded(row.fn, t, {x}, target);
    ASSERT_LE(error_in_ulp(t, got, row.truth(x)), row.bound)
        << row_of(row.fn).name << "(" << float_text(x) << ") " << short_name(t);
  }
}

TEST(ExpandMath, functions_are_within_their_bounds) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  for (const Row &row : rows())
    for (const Target &target : {unit::with_fma(), unit::without_fma()})
      for (DType t : {DType::f32, DType::f64}) {
        check_row(row, t, target);
        if (HasFatalFailure()) return;
      }
}

TEST(ExpandMath, angles_of_any_size_are_reduced_exactly) {
  unit::Random random(unit::seed());
  for (const Target &target : {unit::with_fma(), unit::without_fma()})
    for (DType t : {DType::f32, DType::f64})
      for (int i = 0; i < 300; ++i) {
        int exponent = static_cast<int>(random() % (t == DType::f32 ? 128 : 1024));
        double x = std::ldexp(1 + static_cast<double>(random() % 1000003) / 1000003, exponent);
        x = rounded(t, i % 2 ? -x : x);
        Real sine = std::sin(static_cast<Real>(x)), cosine = std::cos(static_cast<Real>(x));
        ASSERT_LE(error_in_ulp(t, expanded(Fn::sin, t, {x}, target), sine), 1) << float_text(x);
        ASSERT_LE(error_in_ulp(t, expanded(Fn::cos, t, {x}, target), cosine), 1) << float_text(x);
        ASSERT_LE(error_in_ulp(t, expanded(Fn::tan, t, {x}, target), std::tan(static_cast<Real>(x))), 1);
      }
}

TEST(ExpandMath, power_and_atan2_are_within_one_ulp) {
  unit::Random random(unit::seed());
  std::uniform_real_distribution<double> base(0, 8), exponent(-40, 40);
  for (const Target &target : {unit::with_fma(), unit::without_fma()})
    for (DType t : {DType::f32, DType::f64})
      for (int i = 0; i < 1000; ++i) {
        double x = rounded(t, base(random)), y = rounded(t, exponent(random));
        Real power = std::pow(static_cast<Real>(x), static_cast<Real>(y));
        Real angle = std::atan2(static_cast<Real>(y), static_cast<Real>(-x));
        ASSERT_LE(error_in_ulp(t, expanded(Fn::power, t, {x, y}, target), power), 1) << x << " " << y;
        ASSERT_LE(error_in_ulp(t, expanded(Fn::atan2, t, {y, -x}, target), angle), 1) << x << " " << y;
      }
}

TEST(ExpandMath, values_at_infinity) {
  constexpr double half_pi = 1.5707963267948966;
  for (const Target &target : {unit::with_fma(), unit::without_fma()})
    for (DType t : {DType::f32, DType::f64}) {
      auto at = [&](Fn fn, double x) { return expanded(fn, t, {x}, target); };
      EXPECT_EQ(at(Fn::log, inf), inf);
      EXPECT_EQ(at(Fn::log, 0), -inf);
      EXPECT_EQ(at(Fn::log1p, -1), -inf);
      EXPECT_EQ(at(Fn::expm1, -inf), -1);
      EXPECT_EQ(at(Fn::tanh, -inf), -1);
      EXPECT_EQ(at(Fn::cosh, -inf), inf);
      EXPECT_EQ(at(Fn::sinh, -inf), -inf);
      EXPECT_EQ(at(Fn::erfc, -inf), 2);
      EXPECT_EQ(at(Fn::erf, -inf), -1);
      EXPECT_EQ(at(Fn::sigmoid, -inf), 0);
      EXPECT_EQ(at(Fn::atan, inf), rounded(t, half_pi));
      EXPECT_EQ(at(Fn::rsqrt, -0.0), -inf);
      for (Fn fn : {Fn::sin, Fn::cos, Fn::tan}) EXPECT_TRUE(std::isnan(at(fn, inf)));
    }
}

TEST(ExpandMath, zeros_keep_their_sign) {
  for (Fn fn : {Fn::sin, Fn::tan, Fn::asin, Fn::atan, Fn::sinh, Fn::tanh, Fn::expm1, Fn::log1p, Fn::erf})
    for (DType t : {DType::f32, DType::f64}) {
      double zero = expanded(fn, t, {-0.0}, unit::with_fma());
      EXPECT_TRUE(zero == 0 && std::signbit(zero)) << row_of(fn).name;
    }
}

TEST(ExpandMath, angles_of_zeros) {
  constexpr double pi = 0x1.921fb54442d18p+1;
  for (const Target &target : {unit::with_fma(), unit::without_fma()})
    for (double y : {0.0, -0.0})
      for (double x : {0.0, -0.0}) {
        double angle = expanded(Fn::atan2, DType::f64, {y, x}, target);
        EXPECT_EQ(angle, std::signbit(x) ? std::copysign(pi, y) : 0);
        EXPECT_EQ(std::signbit(angle), std::signbit(y));
      }
}

TEST(ExpandMath, nothing_but_machine_functions_is_left) {
  for (const Target &target : {unit::with_fma(), unit::without_fma()})
    for (const IntrinsicRow &row : intrinsics()) {
      if (!row.in_language || row.fn == Fn::popcount) continue;
      std::vector<Expr> args(row.arity, kw::ref(make_sym(SymKind::param, DType::f64, "x")));
      walk(expand_call(row.fn, args, {}, target), [&](const Call &n, const Expr &) {
        bool rounding = n.fn >= Fn::floor && n.fn <= Fn::round && target.has_rounding();
        EXPECT_TRUE(rounding || n.fn == Fn::sqrt || n.fn == Fn::abs || n.fn == Fn::fmod || n.fn >= Fn::fma)
            << row.name << " leaves " << row_of(n.fn).name;
      });
    }
}

TEST(ExpandMath, printed_expansions_are_short_and_parse_back) {
  Func f = unit::ir(
      "def f(x: scalar(f64), c: out(f64, ())):\n  fp('strict')\n  dims()\n  c[()] = power(tan(x), erfc(x))\n"
      "  return c\n");
  Func out = expand_math(f, unit::with_fma());
  std::string text = print(out);
  EXPECT_LT(text.size(), 100000u);
  EXPECT_NE(text.find("share(1, "), std::string::npos);
  Func back = unit::ir(text.substr(text.find('\n') + 1));
  EXPECT_TRUE(equal(out, back));
  EXPECT_EQ(print(back), text);
  EXPECT_FALSE(equal(out, expand_math(f, unit::without_fma())));
  EXPECT_THROW(
      unit::ir("def f(c: out(f64, ())):\n  fp('strict')\n  dims()\n  c[()] = shared(1)\n  return c\n"),
      CompileError);
}

TEST(ExpandMath, expansions_are_shallow_enough_to_nest) {
  for (const Target &target : {unit::with_fma(), unit::without_fma()})
    for (const IntrinsicRow &row : intrinsics()) {
      if (!row.in_language || row.fn == Fn::popcount) continue;
      std::vector<Expr> args(row.arity, kw::ref(make_sym(SymKind::param, DType::f64, "x")));
      EXPECT_LE(expand_call(row.fn, args, {}, target)->depth, 200) << row.name;
    }
}

}  // namespace
}  // namespace kw
