// Which conditions hold in all iterations if they do at the ends, and what becomes of the loop.
#include "schedule/tree/unswitched_loop.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A loop over i with a condition around its body, and what it is part of.
struct Sample {
  Func f;
  const For *loop = nullptr;
  Stmt at;

  explicit Sample(std::string_view condition, std::string_view more = "else:\n      a[i] = f32(0.0)") {
    f = unit::ir(
        cat("def f(a: inout(f32, (n,)), b: inout(i64, (n,)), k: weak(i64)):\n  fp('strict')\n  dims(n)\n"
            "  for i in unroll(k, min(n, k + 4), 1, unroll=4):\n    if ",
            condition, ":\n      a[i] = f32(1.0)\n    ", more, "\n  return a, b\n"));
    walk(f.body, [&](const For &n, const Stmt &s) { loop = &n, at = s; });
  }
};

bool can(std::string_view condition) { return can_unswitch(*Sample(condition).loop); }

TEST(UnswitchedLoop, conditions_hold_between_their_ends) {
  EXPECT_TRUE(can("1 <= i"));
  EXPECT_TRUE(can("(1 <= i) and (i < (n - 1))"));
  EXPECT_TRUE(can("(1 <= k) and (i < n)"));
  EXPECT_FALSE(can("(1 <= i) or (i < k)"));
  EXPECT_FALSE(can("i == k"));
  EXPECT_FALSE(can("(i * i) < n"));
  EXPECT_FALSE(can("i < b[k]"));
  EXPECT_FALSE(can("i < b[i]"));
}

TEST(UnswitchedLoop, other_bodies_stay) {
  EXPECT_FALSE(can_unswitch(*Sample("1 <= i", "a[i] = f32(2.0)").loop));
  Func f = unit::ir(
      "def f(a: inout(f32, (n,))):\n  fp('strict')\n  dims(n)\n  for i in serial(0, n, 1):\n    if 1 <= i:\n"
      "      a[i] = f32(1.0)\n  return a\n");
  walk(f.body, [&](const For &n, const Stmt &) { EXPECT_FALSE(can_unswitch(n)); });
}

TEST(UnswitchedLoop, the_copy_has_no_condition) {
  Sample s("(1 <= i) and (i < (n - 1))");
  s.f.body = unswitched_loop(*s.loop, s.at.loc());
  std::string text = print(s.f);
  EXPECT_NE(text.find("  if ((((min(n, k + 4)) - k) == 4) and (1 <= k)) and ((k + 3) < (n - 1)):\n"
                      "    for i in unroll(k, k + 4, 1, unroll=4):\n      a[i] = f32(1.0)\n"
                      "  else:\n    for i_1 in serial(k, min(n, k + 4), 1):\n"
                      "      if (1 <= i_1) and (i_1 < (n - 1)):\n        a[i_1] = f32(1.0)\n"
                      "      else:\n        a[i_1] = f32(0.0)\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace kw
