// Which iterations are cut off, and what is left of the body between the borders.
#include "schedule/steps/steps.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The lines over a: f32[n, m], v and u: f32[n] behind the step.
std::string cut(std::string_view lines) {
  std::string text =
      "def f(a: inout(f32, (n, m)), v: inout(f32, (n,)), u: buf(f32, (n,))):\n  fp('strict')\n  dims(n, m)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  LoopNest nest(unit::ir(text + "  return a, v\n"));
  peel_boundaries(nest);
  EXPECT_EQ(verify(nest.func()), "");
  std::string out;
  for (const std::string &line : split_text(print(nest.func()), '\n')) {
    bool body = line.find("  for ") == 0 || line.find("    ") == 0;
    if (body) out += line.substr(2) + "\n";
  }
  return out;
}

TEST(PeelBoundaries, guards_at_both_ends) {
  EXPECT_EQ(cut("for i in serial(0, n, 1):\n  if (0 <= (i - 1)) and ((i + 2) < n):\n"
                "    v[i] = u[i - 1] + u[i + 2]"),
            "for i in serial(1, max(n - 2, 0), 1):\n  v[i] = u[i - 1] + u[i + 2]\n");  // no others store
}

TEST(PeelBoundaries, neighbours_by_remainder_and_by_clamp) {
  EXPECT_EQ(cut("for i in serial(0, n, 1):\n  v[i] = u[(i + 1) % n] + u[max(i - 1, 0)]"),
            "for i in serial(0, min(1, max(n - 1, 0)), 1):\n  v[i] = u[i + 1] + u[0]\n"
            "for i_1 in serial(1, max(n - 1, 0), 1):\n  v[i_1] = u[i_1 + 1] + u[i_1 - 1]\n"
            "for i_2 in serial(max(n - 1, 0), n, 1):\n  v[i_2] = u[(i_2 + 1) % n] + u[max(i_2 - 1, 0)]\n");
}

TEST(PeelBoundaries, only_the_middle_rows_are_cut_in_columns) {
  std::string out =
      cut("for i in serial(0, n, 1):\n  for j in serial(0, m, 1):\n    if i == 0 or j == 0:\n      a[i, j] = "
          "f32(0.0)\n    else:\n      a[i, j] = u[i]");
  EXPECT_EQ(out,
            "for i in serial(0, min(1, n), 1):\n  for j in serial(0, m, 1):\n    a[i, j] = f32(0.0)\n"
            "for i_1 in serial(1, n, 1):\n  for j_1 in serial(0, min(1, m), 1):\n    a[i_1, j_1] = f32(0.0)\n"
            "  for j_2 in serial(1, m, 1):\n    a[i_1, j_2] = u[i_1]\n");
}

TEST(PeelBoundaries, taps_in_a_loop_count_with_their_ends) {
  EXPECT_EQ(cut("for i in serial(0, n, 1):\n  for t in serial(0, 5, 1):\n    if 0 <= ((i + t) - 2):\n"
                "      v[i] = u[(i + t) - 2]"),
            "for i in serial(0, min(2, n), 1):\n  for t in serial(0, 5, 1):\n    if 0 <= ((i + t) - 2):\n"
            "      v[i] = u[(i + t) - 2]\n"
            "for i_1 in serial(2, n, 1):\n  for t_1 in serial(0, 5, 1):\n    v[i_1] = u[(i_1 + t_1) - 2]\n");
}

TEST(PeelBoundaries, steps_of_windows_are_divided) {
  EXPECT_EQ(cut("for i in serial(0, n, 1):\n  if 0 <= ((2 * i) - 3):\n    v[i] = u[i]"),
            "for i in serial(2, n, 1):\n  v[i] = u[i]\n");
}

TEST(PeelBoundaries, loops_without_borders_stay) {
  for (const char *lines : {
           "for i in serial(0, n, 1):\n  if i < (m - 3):\n    v[i] = u[i]",  // anywhere in the range
           "for i in serial(0, n, 1):\n  if i < 20:\n    v[i] = u[i]",       // far from its ends
           "for i in serial(0, 12, 1):\n  if 0 < i:\n    v[i] = u[i]",       // a short loop
           "for i in serial(0, n, 2):\n  if 0 < i:\n    v[i] = u[i]",  // the ends of steps are not known
           "for i in serial(0, n, 1):\n  v[i] = f32(1.0) if (i < 1) else f32(2.0)",  // nothing is read
       }) {
    std::string whole;
    for (const std::string &line : split_text(lines, '\n')) whole += line + "\n";
    EXPECT_EQ(cut(lines), whole);
  }
}

TEST(PeelBoundaries, a_sum_in_lanes_keeps_its_iterations) {
  std::string out =
      cut("s = alloc(f32, (), 'registers')\ns[()] = f32(0.0)\nfor i in serial(0, n, 1):\n  if 0 < i:\n"
          "    s[()] = (s[()] + u[i]) @ lanes(i)\nv[0] = s[()]");
  EXPECT_NE(out.find("for i in serial(0, n, 1)"), out.npos) << out;
}

}  // namespace
}  // namespace kw
