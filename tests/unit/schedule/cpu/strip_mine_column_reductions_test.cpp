// Which columns go down together, and what their scalars become.
#include "schedule/cpu/steps.h"

#include <gtest/gtest.h>

#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

using unit::loops_after;

void block(LoopNest &nest) { strip_mine_column_reductions(nest, unit::avx512_machine()); }

TEST(StripMineColumns, sums_of_columns_run_row_by_row) {
  std::string lines =
      "for j in range(v.shape[0]):\n  s = 0.0\n  for i in range(b.shape[0]):\n    s += b[i, j]\n  v[j] = s";
  EXPECT_EQ(loops_after(lines, block), "j0 .j .i ..j#2 .j#3");
  std::string text = unit::text_after(lines, block);
  EXPECT_NE(text.find("s = alloc(f32, (512,), 'stack')"), std::string::npos) << text;
  EXPECT_NE(text.find("min(v_0, j0 + 512)"), std::string::npos) << text;
}

TEST(StripMineColumns, every_pass_over_a_column_gets_loops_of_its_own) {
  std::string lines =
      "for j in range(v.shape[0]):\n  s = 0.0\n  for i in range(b.shape[0]):\n    s += b[i, j]\n  t = 0.0\n"
      "  for i in range(b.shape[0]):\n    d = b[i, j] - s\n    t += d * d\n  v[j] = t";
  EXPECT_EQ(loops_after(lines, block), "j0 .j .i ..j#2 .j#3 .i#2 ..j#4 .j#5");
}

TEST(StripMineColumns, what_runs_along_rows_or_is_used_again_stays) {
  std::string rows =
      "for i in range(v.shape[0]):\n  s = 0.0\n  for j in range(b.shape[1]):\n    s += b[i, j]\n  v[i] = s";
  EXPECT_EQ(loops_after(rows, block), "i .j");
  std::string product =
      "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    s = 0.0\n    for k in "
      "range(v.shape[0]):\n"
      "      s += v[k] * b[k, j]\n    a[i, j] = s";
  EXPECT_EQ(loops_after(product, block), "i .j ..k");
  std::string taps =
      "for j in range(v.shape[0]):\n  s = 0.0\n  for i in range(3):\n    s += b[i, j]\n  v[j] = s";
  EXPECT_EQ(loops_after(taps, block), "j .i");
}

TEST(StripMineColumns, columns_that_depend_on_each_other_stay) {
  std::string lines =
      "for j in range(1, v.shape[0]):\n  s = v[j - 1]\n  for i in range(b.shape[0]):\n    s += b[i, j]\n"
      "  v[j] = s";
  EXPECT_EQ(loops_after(lines, block), "j .i");
}

}  // namespace
}  // namespace kw
