// Which sums get a version for few terms, and when it is taken.
#include "schedule/cpu/short_sums.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "schedule/cpu/steps.h"
#include "support/text.h"
#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

std::optional<ShortSums> version_of(std::string_view lines, Func *main = nullptr) {
  std::optional<ShortSums> out;
  unit::loops_after(lines, [&](LoopNest &nest) {
    out = short_sums(nest.func());
    if (main) *main = nest.func();
  });
  return out;
}

constexpr std::string_view rows =
    "for i in range(v.shape[0]):\n  s = 0.0\n  for j in range(a.shape[1]):\n    s += a[i, j]\n  v[i] = s";

TEST(ShortSums, the_sizes_of_the_call_choose) {
  auto version = version_of(rows);
  ASSERT_TRUE(version);
  EXPECT_EQ(print(version->condition), "(min(a_1, 64)) < 64");
  EXPECT_EQ(print(version->func).find("lanes"), std::string::npos);
}

TEST(ShortSums, a_band_of_two_loops_counts_their_product) {
  auto version = version_of(
      "s = 0.0\nfor i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    s += a[i, j]\nv[0] = s");
  ASSERT_TRUE(version);
  EXPECT_EQ(print(version->condition), "((min(a_1, 64)) * (min(a_0, 64))) < 64");
}

TEST(ShortSums, lengths_that_the_call_does_not_tell_keep_their_lanes) {
  EXPECT_FALSE(version_of(
      "for i in range(v.shape[0]):\n  s = 0.0\n  for j in range(i):\n    s += a[i, j]\n  v[i] = s"));
  EXPECT_FALSE(version_of("for i in range(v.shape[0]):\n  v[i] = 2.0 * v[i]"));
}

TEST(ShortSums, both_versions_stand_under_one_condition) {
  Func main;
  auto version = version_of(rows, &main);
  ASSERT_TRUE(version);
  Target target = unit::avx512_machine();
  auto vectorized = [&](const Func &f) {
    LoopNest nest(f);
    vectorize_and_parallelize(nest, target);
    return nest.func();
  };
  Func now = vectorized(version->func), before = vectorized(main);
  EXPECT_TRUE(vectorizes_more(now, before));
  EXPECT_FALSE(vectorizes_more(before, now));
  Diagnostic known{Code::W301, {}, "known before", {}, {}}, found{Code::W409, {}, "found on the way", {}, {}};
  before.warnings = {known}, now.warnings = {known, found};
  Func both = with_short_sums(before, version->condition, now);
  EXPECT_EQ(verify(both), "");
  ASSERT_EQ(both.warnings.size(), 2u);
  EXPECT_EQ(both.warnings[1].message, found.message);
  std::string text = print(both);
  EXPECT_NE(text.find("if (min(a_1, 64)) < 64:"), std::string::npos) << text;
}

}  // namespace
}  // namespace kw
