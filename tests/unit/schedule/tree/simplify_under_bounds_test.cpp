// What a range decides, and what it leaves.
#include "schedule/tree/simplify_under_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/print.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The body of the loop over i, decided for its range; its statements as text.
std::string decided(std::string_view loop, std::string_view lines) {
  std::string text = cat("def f(a: inout(f32, (n,)), b: inout(f32, (n, m)), k: weak(i64)):\n  fp('strict')\n",
                         "  dims(n, m)\n  ", loop, "\n");
  for (const std::string &line : split_text(lines, '\n')) text += cat("    ", line, "\n");
  Func f = unit::ir(text + "  return a, b\n");
  const For *outer = nullptr;
  walk(f.body, [&](const For &n, const Stmt &) { outer = outer ? outer : &n; });
  Stmt body = simplify_under_bounds(*outer, {});
  if (!body) return "nothing";
  f.body = body;
  std::string out;
  for (const std::string &line : split_text(print(f), '\n')) {
    std::string_view words =
        std::string_view(line).substr(std::min(line.find_first_not_of(' '), line.size()));
    bool shown = words.find("[") != words.npos || words.starts_with("if ") || words.starts_with("for ") ||
                 words.starts_with("else") || words == "continue";
    if (shown) out += line.substr(2) + "\n";
  }
  return out;
}

constexpr const char *inner = "for i in serial(1, max(n - 1, 0), 1):";

TEST(SimplifyUnderBounds, conditions_with_one_answer_go) {
  EXPECT_EQ(decided(inner, "if 1 <= i:\n  a[i] = f32(1.0)\nelse:\n  a[i] = f32(2.0)"), "a[i] = f32(1.0)\n");
  EXPECT_EQ(decided(inner, "if i == 0:\n  a[i] = f32(1.0)\nelse:\n  a[i] = f32(2.0)"), "a[i] = f32(2.0)\n");
  EXPECT_EQ(decided(inner, "if (i + 1) < n:\n  a[i] = f32(1.0)"), "a[i] = f32(1.0)\n");
  EXPECT_EQ(decided(inner, "if not (i < n):\n  a[i] = f32(1.0)"), "nothing");
  EXPECT_EQ(decided(inner, "if (0 < i) and (i < 5):\n  a[i] = f32(1.0)"), "if i < 5:\n  a[i] = f32(1.0)\n");
  EXPECT_EQ(decided(inner, "if (i < 1) or (i < 5):\n  a[i] = f32(1.0)"), "if i < 5:\n  a[i] = f32(1.0)\n");
  EXPECT_EQ(decided(inner, "a[i] = f32(1.0) if (i < 1) else f32(2.0)"), "a[i] = f32(2.0)\n");
}

TEST(SimplifyUnderBounds, clamps_and_remainders_go) {
  EXPECT_EQ(decided(inner, "a[max(i - 1, 0)] = f32(1.0)"), "a[i - 1] = f32(1.0)\n");
  EXPECT_EQ(decided(inner, "a[min(i + 1, n - 1)] = f32(1.0)"), "a[i + 1] = f32(1.0)\n");
  EXPECT_EQ(decided(inner, "a[(i - 1) % n] = f32(1.0)"), "a[i - 1] = f32(1.0)\n");
  EXPECT_EQ(decided(inner, "a[i // n] = f32(1.0)"), "a[0] = f32(1.0)\n");
  EXPECT_EQ(decided(inner, "a[(i + 2) % n] = f32(1.0)"), "a[(i + 2) % n] = f32(1.0)\n");
  EXPECT_EQ(decided("for i in serial(0, n, 1):", "a[(i - 1) % n] = f32(1.0)"), "a[(i - 1) % n] = f32(1.0)\n");
}

TEST(SimplifyUnderBounds, a_number_of_any_size_may_wrap) {
  EXPECT_EQ(decided(inner, "if (i + k) < (k + n):\n  a[i] = f32(1.0)"),
            "if (i + k) < (k + n):\n  a[i] = f32(1.0)\n");
}

TEST(SimplifyUnderBounds, ends_of_loops_may_wrap) {
  EXPECT_EQ(decided(inner, "for j in serial(k, n, 1):\n  if k <= j:\n    b[i, j] = f32(0.0)"),
            "for j in serial(k, n, 1):\n  b[i, j] = f32(0.0)\n");
  std::string_view wraps = "for j in serial(k + 5, n, 1):\n  if k <= j:\n    b[i, j] = f32(0.0)";
  EXPECT_EQ(decided(inner, wraps), cat(wraps, "\n"));
}

TEST(SimplifyUnderBounds, sums_in_lanes_keep_their_band) {
  EXPECT_EQ(decided(inner,
                    "for j in serial(0, min(m, (m + i) - 1), 1):\n"
                    "  a[min(i + 1, i)] = (a[min(i + 1, i)] + b[i, j]) @ lanes(j)"),
            "for j in serial(0, m, 1):\n  a[i] = (a[i] + b[i, j]) @ lanes(j)\n");
}

TEST(SimplifyUnderBounds, what_inner_loops_say_holds_in_them_only) {
  // that the inner loop runs at all says 5 <= i, which is no news for what stands behind it
  EXPECT_EQ(decided("for i in serial(1, min(5, n), 1):",
                    "for j in serial(0, i // 5, 1):\n  b[i, j] = f32(0.0)\nif i < 3:\n  a[i] = f32(1.0)"),
            "if i < 3:\n  a[i] = f32(1.0)\n");
  EXPECT_EQ(decided(inner,
                    "for j in serial(i, m, 1):\n  if 1 <= j:\n    b[i, j] = f32(0.0)\nif 2 <= i:\n"
                    "  a[i] = f32(1.0)"),
            "for j in serial(i, m, 1):\n  b[i, j] = f32(0.0)\nif 2 <= i:\n  a[i] = f32(1.0)\n");
}

TEST(SimplifyUnderBounds, a_branch_knows_its_condition) {
  EXPECT_EQ(decided(inner, "if 3 <= i:\n  if 2 <= i:\n    a[i] = f32(1.0)"),
            "if 3 <= i:\n  a[i] = f32(1.0)\n");
}

TEST(SimplifyUnderBounds, nothing_runs_behind_a_jump) {
  EXPECT_EQ(decided(inner, "if 1 <= i:\n  continue\na[i] = f32(1.0)"), "continue\n");
}

}  // namespace
}  // namespace kw
