// Which strided loads share a window, and which stand for themselves.
#include "analysis/vector/interleaved_loads.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// Of each strided load of a loop i over x: f32[n], p: f32[n, m], c: f32[n, 4], in the order of the text:
/// "element of first..last", or "alone".
std::string windows(std::string_view body) {
  Func f = unit::ir(
      cat("def f(x: inout(f32, (n,)), p: inout(f32, (n, m)), c: inout(f32, (n, 4)), y: inout(f32, (n,)), "
          "w: inout(i64, (n,))):\n"
          "  fp('default')\n  dims(n, m)\n  for i in serial(0, n, 1):\n",
          body, "  return x\n"));
  const For &loop = *as<For>(unit::find_loop(f, "i").loop);
  VectorizationAnalysis view(loop);
  EXPECT_TRUE(view.is_vectorizable());
  InterleavedLoads loads(loop, view);
  std::string out;
  walk(loop.body, [&](const Load &n, const Expr &) {
    if (!is_short_stride(view.element_stride(n.buf, n.index))) return;
    auto found = loads.find(n);
    out += cat(out.empty() ? "" : ", ");
    out += found ? cat(found->element, " of ", found->window->first, "..", found->window->last) : "alone";
  });
  return out;
}

TEST(InterleavedLoads, neighbours_share_a_window) {
  EXPECT_EQ(windows("    y[i] = x[2 * i] + x[2 * i + 1]\n"), "0 of 0..1, 1 of 0..1");
  EXPECT_EQ(windows("    y[i] = x[n - 3 * i] + x[n - 3 * i - 2]\n"), "0 of -2..0, -2 of -2..0");
  EXPECT_EQ(windows("    t: f32 = c[i, 3]\n    y[i] = t + c[i, 1]\n"), "0 of -2..0, -2 of -2..0");
}

TEST(InterleavedLoads, a_window_is_no_longer_than_a_step) {
  EXPECT_EQ(windows("    y[i] = x[2 * i] + x[2 * i + 1] + x[2 * i + 2]\n"),
            "0 of 0..1, 1 of 0..1, 0 of 0..0");
}

TEST(InterleavedLoads, what_a_condition_decides_shares_nothing_with_what_is_certain) {
  EXPECT_EQ(windows("    if x[2 * i] < f32(1.0):\n      y[i] = x[2 * i + 1] * x[2 * i]\n"),
            "0 of 0..0, 0 of -1..0, -1 of -1..0");
}

TEST(InterleavedLoads, rows_are_as_long_as_the_columns_say) {
  EXPECT_EQ(windows("    y[i] = p[i, 0] + p[i, 2]\n"), "0 of 0..2, 2 of 0..2");
  EXPECT_EQ(windows("    y[i] = p[i, 0] + p[i, 5]\n"), "");
  EXPECT_EQ(windows("    for j in serial(0, m, 1):\n      y[i] = p[i, 0] + p[i, 1] + p[i, j]\n"), "");
}

TEST(InterleavedLoads, subscripts_that_memory_decides_share_nothing) {
  EXPECT_EQ(windows("    y[i] = x[2 * i + w[0]] + x[2 * i + w[0] + 1]\n"), "alone, alone");
}

}  // namespace
}  // namespace kw
