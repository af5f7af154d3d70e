// Which nests can write the zeros of an output, and how.
#include "schedule/launches/folded_fill.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A kernel over a: f32[n, m] with an output y of the same shape that is zero before it.
Func kernel_of(std::string_view lines) {
  std::string text =
      "def f(a: inout(f32, (n, m)), p: inout(i64, (n,)), y: out(f32, (n, m), fill='zero')):\n  fp('strict')\n"
      "  dims(n, m)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  return unit::ir(text + "  return a, p, y\n");
}

/// The lines of the first nest that can be folded, or "".
std::string folded(std::string_view lines) {
  Func f = kernel_of(lines);
  Stmt body = f.body;
  std::string out;
  for_each_in_block(body, [&](const Stmt &s) {
    if (!as<For>(s) || !out.empty()) return;
    Buf output = foldable_output(f, s);
    if (!output) return;
    f.body = with_folded_fill(s, output);
    for (const std::string &line : split_text(print(f), '\n'))
      if (line.starts_with("  for") || line.starts_with("   ")) out += line.substr(2) + "\n";
  });
  return out;
}

TEST(FoldedFill, the_loops_run_over_all_elements) {
  EXPECT_EQ(folded("for i in serial(1, n - 1, 1):\n  for j in serial(0, m, 1):\n    y[i, j] = a[i, j]"),
            "for i in serial(0, n, 1):\n  for j in serial(0, m, 1):\n    if (1 <= i) and (i < (n - 1)):\n"
            "      y[i, j] = a[i, j]\n    else:\n      y[i, j] = f32(0.0)\n");
  EXPECT_EQ(folded("for j in serial(0, m - 2, 1):\n  for i in serial(0, n, 1):\n    y[i, j] = a[i, j]"),
            "for j in serial(0, m, 1):\n  for i in serial(0, n, 1):\n    if j < (m - 2):\n"
            "      y[i, j] = a[i, j]\n    else:\n      y[i, j] = f32(0.0)\n");
}

TEST(FoldedFill, a_nest_that_writes_all_has_nothing_to_fill) {
  EXPECT_EQ(folded("for i in serial(0, n, 1):\n  for j in serial(0, m, 1):\n    y[i, j] = a[i, j]"), "");
}

TEST(FoldedFill, some_elements_are_written_by_others_or_by_none) {
  constexpr std::string_view part =
      "for i in serial(1, n, 1):\n  for j in serial(0, m, 1):\n    y[i, j] = a[i, j]";
  EXPECT_NE(folded(part), "");
  EXPECT_EQ(folded(cat("y[0, 0] = f32(1.0)\n", part)), "");
  EXPECT_NE(folded(cat(part, "\ny[0, 0] = f32(1.0)")), "");
  EXPECT_EQ(folded(cat("p[0] = cast(i64, y[0, 0])\n", part)), "");
  EXPECT_NE(folded(cat(part, "\np[0] = cast(i64, y[0, 0])")), "");
  EXPECT_EQ(folded("for i in serial(1, n, 1):\n  for j in serial(0, m, 1):\n    if 0 < p[i]:\n"
                   "      y[i, j] = a[i, j]"),
            "");
  EXPECT_EQ(folded("for i in serial(1, n, 1):\n  for j in serial(0, m, 1):\n    y[i, j] = y[i, j] + a[i, j]"),
            "");
  EXPECT_EQ(folded("for i in serial(1, n, 1):\n  for j in serial(0, m, 1):\n    y[i - 1, j] = a[i, j]"), "");
}

TEST(FoldedFill, iterations_beyond_the_bounds_load_nothing) {
  EXPECT_EQ(folded("for i in serial(1, n, 1):\n  k: i64 = p[i]\n  for j in serial(0, m, 1):\n"
                   "    y[i, j] = cast(f32, k)"),
            "");
  EXPECT_NE(folded("for i in serial(1, n, 1):\n  k: i64 = i + 1\n  for j in serial(0, m, 1):\n"
                   "    y[i, j] = cast(f32, k)"),
            "");
  EXPECT_EQ(folded("for i in serial(0, n, 1):\n  for j in serial(0, min(i, m), 1):\n    y[i, j] = a[i, j]"),
            "");
  EXPECT_EQ(folded("for i in serial(1, n, 2):\n  for j in serial(0, m, 1):\n    y[i, j] = a[i, j]"), "");
}

}  // namespace
}  // namespace kw
