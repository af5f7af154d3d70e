// Initialisation: which buffers must start as zero, and where a read may come before the write.
#include "analysis/init.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "zero: names; warn: lines" of a kernel over a: f32[n, m] and a Python int p with an output c: f32[n, m].
std::string report_of(std::string_view lines) {
  std::string text = "def f(a, p):\n  c = output_tensor(a.shape, a.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  unit::Lowered l =
      unit::lower_text(text + "  return c\n", unit::signature({unit::tensor(2), unit::weak(DType::i64)}));
  EXPECT_TRUE(l.errors.empty()) << l.errors[0].message;
  InitReport report = analyse_initialisation(l.func);
  std::string zero, warn;
  for (const Buf &b : report.needs_zero) zero += cat(" ", b->sym->name);
  for (const Diagnostic &d : report.warnings) {
    EXPECT_EQ(d.code, Code::W301);
    warn += cat(" ", l.sources->position(d.loc).line, ":", l.sources->position(d.loc).column);
  }
  return cat("zero:", zero, "; warn:", warn);
}
constexpr std::string_view clean = "zero:; warn:", needs_c = "zero: c; warn:";

TEST(Initialisation, a_full_nest_of_writes_needs_no_zeros) {
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    c[i, j] = a[i, j]"),
            clean);
  EXPECT_EQ(
      report_of(
          "for j in range(a.shape[1]):\n  for i in range(a.shape[0] - 1, -1, -1):\n    c[i, j] = a[i, j]"),
      clean);
  EXPECT_EQ(report_of("for i, j in grid(c.shape):\n  c[i, j] = 1.0"), clean);
}

TEST(Initialisation, empty_loops_end_the_analysis_too) {
  EXPECT_EQ(report_of("for i in range(a.shape[0] - 4):\n  c[i, 0] = 1.0\nfor i in range(a.shape[0], 0):\n  "
                      "c[i, 0] = 2.0\n"
                      "for i in range(-2):\n  c[i + 2, 0] = 3.0\nfor i in range(5, 2):\n  c[i, 0] = 4.0"),
            needs_c);
}

TEST(Initialisation, an_unwritten_remainder_is_filled_silently) {
  EXPECT_EQ(report_of("c[0, 0] = 1.0"), needs_c);
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  for j in range(1, a.shape[1]):\n    c[i, j] = a[i, j]"),
            needs_c);
  EXPECT_EQ(
      report_of("for i in range(a.shape[0]):\n  for j in range(0, a.shape[1], 2):\n    c[i, j] = a[i, j]"),
      needs_c);
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  c[i, i] = 1.0"), needs_c);
  EXPECT_EQ(report_of("for i in range(p):\n  for j in range(a.shape[1]):\n    c[i, j] = 1.0"), needs_c);
}

TEST(Initialisation, a_loop_whose_end_may_wrap_may_have_written_nothing) {
  auto reads = [](std::string_view end, std::string_view guard) {
    return report_of(
        cat("t = allocate((a.shape[0],), a.dtype)\nfor i in range(", end,
            "):\n  t[i] = 1.0\nfor i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    if ", guard,
            ":\n      c[i, j] = t[i]\n    else:\n      c[i, j] = 0.0"));
  };
  EXPECT_EQ(reads("p + 1", "i <= p"), "zero: t; warn:");  // where it does not wrap, all is right
  EXPECT_EQ(reads("p", "i < p"), clean);
}

TEST(Initialisation, a_read_before_the_write_warns_and_needs_zeros) {
  EXPECT_EQ(
      report_of(
          "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    c[i, j] = c[i, j] * a[i, j]"),
      "zero: c; warn: 5:17");
  EXPECT_EQ(report_of("t = allocate((4,))\nc[0, 0] = t[2]"), "zero: t c; warn: 4:13");
}

TEST(Initialisation, adding_to_an_element_means_that_it_starts_as_zero) {
  for (std::string_view sum :
       {"c[i, 0] += a[i, 0]", "c[i, 0] -= a[i, 0]", "c[i, 0] = c[i, 0] + a[i, 0]",
        "c[i, 0] = a[i, 0] + c[i, 0]", "c[i, 0] = c[i, 0] + a[i, 0] - 1.0", "c[i, 0] += float64(a[i, 0])"})
    EXPECT_EQ(report_of(cat("for i in range(a.shape[0]):\n  ", sum)), needs_c) << sum;
  for (std::string_view other : {"c[i, 0] *= a[i, 0]", "c[i, 0] = max(c[i, 0], a[i, 0])",
                                 "c[i, 0] = c[i, 1] + 1.0", "c[i, 0] = a[i, 0] - c[i, 0]"})
    EXPECT_NE(report_of(cat("for i in range(a.shape[0]):\n  ", other)), needs_c) << other;
  EXPECT_EQ(report_of("t = allocate((4,), \"int64\")\nt[1] |= 3\nt[2] ^= 5\nt[0] = t[3] | 1"),
            "zero: t c; warn: 6:10");
}

TEST(Initialisation, a_local_in_a_subscript_has_another_value_in_each_iteration) {
  EXPECT_EQ(report_of("t = allocate((8, 8))\nfor i in range(8):\n  b = int(a[i, 0])\n  for q in range(i):\n"
                      "    c[i, 0] = t[q, b]\n  t[i, b] = 1.0"),
            "zero: t c; warn: 7:17");
}

TEST(Initialisation, a_bound_from_memory_may_be_another_one_later) {
  EXPECT_EQ(report_of("t = allocate((2,), \"int64\")\nt[0] = p\nd = allocate((a.shape[0],))\n"
                      "for i in range(t[0]):\n  d[i] = 1.0\nt[0] += 3\nfor i in range(t[0], d.shape[0]):\n"
                      "  d[i] = 1.0\nfor i in range(d.shape[0]):\n  c[i, 0] = d[i]"),
            "zero: d c; warn: 12:15");
}

TEST(Initialisation, a_write_covers_later_reads_of_the_same_element) {
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    c[i, j] = 0.0\n"
                      "    c[i, j] += a[i, j]"),
            clean);
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  c[i, 0] = 0.0\n  for j in range(a.shape[1]):\n"
                      "    c[i, 0] += a[i, j]"),
            needs_c);
}

TEST(Initialisation, writes_of_earlier_loops_cover_reads_of_later_ones) {
  EXPECT_EQ(
      report_of(
          "for i, j in grid(c.shape):\n  c[i, j] = 1.0\nfor i, j in grid(c.shape):\n  c[i, j] += a[i, j]"),
      clean);
  EXPECT_EQ(
      report_of(
          "t = allocate((8,))\nfor i in range(8):\n  t[i] = 1.0\nfor i in range(8):\n  c[0, 0] = t[7 - i]"),
      needs_c);
}

TEST(Initialisation, writes_in_both_branches_count_and_in_one_do_not) {
  EXPECT_EQ(
      report_of("for i, j in grid(c.shape):\n  if i > j:\n    c[i, j] = 1.0\n  else:\n    c[i, j] = 2.0"),
      clean);
  EXPECT_EQ(report_of("for i, j in grid(c.shape):\n  if i > j:\n    c[i, j] = 1.0"), needs_c);
  EXPECT_EQ(
      report_of("for i, j in grid(c.shape):\n  if i > j:\n    c[i, j] = 1.0\n  else:\n    c[j, i] = 2.0"),
      needs_c);
}

TEST(Initialisation, writes_side_by_side_are_one_whose_parts_count_too) {
  std::string_view read = "c[0, 1] += c[0, 3]";
  std::string_view both = "if p > 0:\n  c[0, 0] = 1.0\n  c[0, 1] = 1.0\nelse:\n  c[0, 0] = 2.0\n";
  EXPECT_EQ(report_of(cat(both, "c[0, 2] = c[0, 0]")), "zero: c; warn:");
  EXPECT_EQ(report_of(cat(both, read)), "zero: c; warn: 8:14");
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  for j in const_range(3):\n    c[i, j] = 1.0\n"
                      "for i in range(a.shape[0]):\n  c[i, 3] = c[i, 0] + c[i, 2]"),
            "zero: c; warn:");
}

TEST(Initialisation, a_border_and_what_it_frames_are_everything) {
  std::string_view border = "for k in range(c.shape[0]):\n  c[k, 0] = 0.0\n",
                   top = "for k in range(c.shape[1]):\n  c[0, k] = 0.0\n",
                   rest = "for i in range(1, c.shape[0]):\n  for j in range(1, c.shape[1]):\n    c[i, j] = ";
  EXPECT_EQ(report_of(cat(border, top, rest, "c[i - 1, j - 1] + c[i - 1, j] + c[i, j - 1]")), clean);
  EXPECT_EQ(report_of(cat(top, rest, "c[i - 1, j - 1]")), "zero: c; warn: 7:17");
  EXPECT_EQ(report_of(cat(border, rest, "c[i, j - 1]")), "zero: c; warn:");
}

TEST(Initialisation, rows_above_and_the_begun_row_are_one_triangle) {
  EXPECT_EQ(report_of("t = allocate((8, 8))\nfor i in range(8):\n  for j in range(i + 1):\n    s = 0.0\n"
                      "    for k in range(j):\n      s += t[i, k] * t[j, k]\n    t[i, j] = s\n"
                      "  for j in range(i + 1, 8):\n    t[i, j] = 0.0\nc[0, 0] = t[7, 7]"),
            needs_c);
}

TEST(Initialisation, loops_that_may_not_run_write_nothing_for_what_follows) {
  EXPECT_EQ(report_of("t = allocate((1,))\nfor i in range(p):\n  t[0] = 1.0\nc[0, 0] = t[0]"),
            "zero: t c; warn: 6:13");
  EXPECT_EQ(report_of("t = allocate((1,))\nfor i in range(3):\n  t[0] = 1.0\nc[0, 0] = t[0]"), needs_c);
}

TEST(Initialisation, prefix_sums_and_stencils_read_what_earlier_iterations_wrote) {
  EXPECT_EQ(
      report_of(
          "t = allocate((8,))\nt[0] = 1.0\nfor i in range(1, 8):\n  t[i] = t[i - 1] + 1.0\nc[0, 0] = t[7]"),
      needs_c);
  EXPECT_EQ(
      report_of("t = allocate((8,))\nt[0] = 1.0\nfor i in range(1, 8):\n  t[i] = t[i] * 2.0\nc[0, 0] = t[7]"),
      "zero: t c; warn: 6:12");
  EXPECT_EQ(
      report_of("t = allocate((8,))\nt[0] = 1.0\nfor i in range(1, 7):\n  t[i] = t[i + 1]\nc[0, 0] = t[0]"),
      "zero: t c; warn: 6:12");
}

TEST(Initialisation, writes_at_loaded_indices_cover_nothing) {
  Signature s = unit::signature({unit::tensor(1, DType::i64)});
  Func f = unit::kernel(
      "def f(w):\n  c = output_tensor(w.shape, w.dtype)\n  for i in range(w.shape[0]):\n    c[w[i]] = 1\n"
      "  return c\n",
      s);
  EXPECT_EQ(analyse_initialisation(f).needs_zero.size(), 1u);
  f = unit::kernel(
      "def f(w):\n  c = output_tensor(w.shape, w.dtype)\n  for i in range(w.shape[0]):\n    c[i] = w[i]\n"
      "  return c\n",
      s);
  EXPECT_TRUE(analyse_initialisation(f).needs_zero.empty());
}

/// A guard over a mutable scalar says nothing any more once the scalar has changed.
TEST(Initialisation, a_guard_ends_with_the_value_that_it_was_about) {
  EXPECT_EQ(report_of("t = allocate((8,))\nfor i in range(4):\n  t[i] = 1.0\nx = 0\nx = int(a[0, 0])\nif 0 "
                      "<= x and x < 4:\n"
                      "  x = x + 4\n  c[0, 0] = t[x]"),
            "zero: t c; warn: 10:15");
}

TEST(Initialisation, a_break_ends_the_writes_of_later_iterations) {
  EXPECT_EQ(report_of("for i, j in grid(c.shape):\n  c[i, j] = 1.0\n  if a[i, j] > 0:\n    break"), needs_c);
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    c[i, j] = 1.0\n"
                      "  for j in range(p):\n    if a[i, 0] > 0:\n      break"),
            clean);
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    c[i, j] = 1.0\n"
                      "  if a[i, 0] > 0:\n    break"),
            needs_c);
}

TEST(Initialisation, a_continue_skips_the_writes_behind_it_only) {
  EXPECT_EQ(report_of("for i, j in grid(c.shape):\n  if a[i, j] > 0:\n    continue\n  c[i, j] = 1.0"),
            needs_c);
  EXPECT_EQ(report_of("for i, j in grid(c.shape):\n  c[i, j] = 1.0\n  if a[i, j] > 0:\n    continue\n"
                      "  c[i, j] = 2.0"),
            clean);
  EXPECT_EQ(report_of("for i, j in grid(c.shape):\n  if a[i, j] > 0:\n    c[i, j] = 1.0\n    continue\n"
                      "  c[i, j] = 2.0"),
            clean);
}

TEST(Initialisation, a_branch_that_jumps_does_not_meet_the_other) {
  EXPECT_EQ(report_of("for i, j in grid(c.shape):\n  if a[i, j] > 0:\n    c[i, j] = 1.0\n  else:\n"
                      "    c[i, j] = 2.0\n    continue\n  c[i, j] += 1.0"),
            clean);
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  t = allocate((4,), float32)\n  if a[i, 0] > 0:\n"
                      "    continue\n  else:\n    t[0] = 1.0\n  c[i, 0] = t[0]"),
            needs_c);
  EXPECT_EQ(report_of("for i in range(a.shape[0]):\n  t = allocate((4,), float32)\n  if a[i, 0] > 0:\n"
                      "    t[0] = 1.0\n    continue\n  c[i, 0] = t[0]"),
            "zero: t c; warn: 8:15");
}

TEST(Initialisation, a_scan_whose_first_iteration_continues_reads_what_was_written) {
  EXPECT_EQ(report_of("for j in range(a.shape[1]):\n  for i in range(a.shape[0]):\n    if i == 0:\n"
                      "      c[i, j] = a[i, j]\n      continue\n    c[i, j] = c[i - 1, j] + a[i, j]"),
            clean);
  EXPECT_EQ(report_of("for j in range(a.shape[1]):\n  for i in range(a.shape[0]):\n    if i == 1:\n"
                      "      c[i, j] = a[i, j]\n      continue\n    c[i, j] = c[i - 1, j] + a[i, j]"),
            "zero: c; warn: 8:17");
}

TEST(Initialisation, earlier_iterations_that_were_continued_wrote_less) {
  EXPECT_EQ(
      report_of("for i in range(1, a.shape[0]):\n  if a[i, 0] > 0:\n    continue\n  c[i, 0] = c[i - 1, 0]"),
      "zero: c; warn: 6:15");
}

TEST(Initialisation, a_while_claims_nothing) {
  EXPECT_EQ(report_of("k = 0\nwhile k < p:\n  for i, j in grid(c.shape):\n    c[i, j] = 1.0\n  k += 1"),
            needs_c);
}

}  // namespace
}  // namespace kw
