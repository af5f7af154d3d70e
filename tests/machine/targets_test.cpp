// Machine code for a lesser processor than the one at hand, run here: it has the bits of the interpreter.
// The other tests run what the present machine gets and never see these ways. Judges no speed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "ir/scalar_ops.h"
#include "runtime/jit.h"
#include "runtime/launch.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

using Words = std::vector<uint64_t>;

/// Of x86-64 only what every such processor has: no rounding, no fma, no conversion of float16.
Target lesser() {
  Target out = host_target();
  if (out.triple.starts_with("x86_64")) out.features.clear();
  return out;
}

Words run(const std::string &value, DType t, const Words &a, const Words &b, const char *backend) {
  SourceText source{
      cat("def k(a, b):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n",
          "        c[i] = ", value, "\n    return c\n"),
      "k.py", 1};
  Request r;
  r.name = "k";
  r.identity = source.text;
  r.signature = unit::signature({unit::tensor(1, t), unit::tensor(1, t)});
  r.options.fp = FpMode::strict;
  r.target = lesser();
  r.backend = backend;
  auto kernel = Jit("", 0).compile(r, source);
  size_t size = item_size(t);
  std::string bytes[3];
  for (std::string &s : bytes) s.assign(a.size() * size, '\0');
  for (size_t i = 0; i < a.size(); ++i)
    std::memcpy(&bytes[0][i * size], &a[i], size), std::memcpy(&bytes[1][i * size], &b[i], size);
  void *data[] = {bytes[0].data(), bytes[1].data(), bytes[2].data()};
  auto count = static_cast<int64_t>(a.size());
  int64_t dims[] = {count, count};
  EXPECT_EQ(run_here(*kernel, {data, dims, nullptr, 0}, nullptr).status, 0) << value;
  Words out(a.size());
  for (size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], &bytes[2][i * size], size);
  return out;
}

/// Whole and half numbers, the ends of the range of exact ones, specials, and random bits; every pair of a
/// few of them.
void pairs(DType t, unit::Random &random, Words &a, Words &b) {
  double exact = t == DType::f64 ? 0x1p52 : t == DType::f32 ? 0x1p23 : 0x1p10, inf = HUGE_VAL;
  Words values;
  for (double v : {0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 7.75, 1e-3, exact - 0.5, exact, exact + 1,
                   2 * exact, 6e4, inf, std::nan("")})
    for (double sign : {1.0, -1.0}) values.push_back(from_double(t, sign * v).bits);
  uint64_t mask = ~uint64_t{0} >> (64 - bit_width(t));
  for (int k = 0; k < 40; ++k) values.push_back(random() & mask);
  for (uint64_t x : values)
    for (uint64_t y : values) a.push_back(x), b.push_back(y);
}

void expect_same(const std::string &value, DType t) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  Words a, b;
  pairs(t, random, a, b);
  Words want = run(value, t, a, b, "interp"), got = run(value, t, a, b, "llvm");
  auto is_nan = [&](uint64_t bits) { return std::isnan(to_double({t, bits})); };
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(got[i] == want[i] || (is_nan(got[i]) && is_nan(want[i])))
        << value << " of " << short_name(t) << " " << to_double({t, a[i]}) << ", " << to_double({t, b[i]})
        << ": " << to_double({t, got[i]}) << ", not " << to_double({t, want[i]});
}

constexpr DType floats[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

TEST(LesserTarget, lacks_what_the_tests_are_about) {
  if (!lesser().triple.starts_with("x86_64")) GTEST_SKIP() << "every such machine has these instructions";
  EXPECT_FALSE(lesser().has_rounding());
  EXPECT_FALSE(lesser().has_half());
  EXPECT_FALSE(lesser().has_fma());
}

TEST(LesserTarget, quotients_and_remainders_are_those_of_the_interpreter) {
  for (DType t : floats)
    for (const char *value : {"a[i] // b[i]", "a[i] % b[i]"}) expect_same(value, t);
}

TEST(LesserTarget, rounding_is_that_of_the_interpreter) {
  for (DType t : floats)
    for (const char *value : {"floor(a[i])", "ceil(a[i])", "trunc(a[i])", "round(a[i])"})
      expect_same(value, t);
}

TEST(LesserTarget, arithmetic_is_that_of_the_interpreter) {
  for (DType t : floats)
    for (const char *value : {"a[i] * b[i] + a[i]", "a[i] / b[i]", "min(a[i], b[i])", "max(a[i], b[i])"})
      expect_same(value, t);
}

}  // namespace
}  // namespace kw
