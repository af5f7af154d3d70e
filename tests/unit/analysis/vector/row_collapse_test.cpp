// Which rows are one row where they lie end to end, and what keeps them apart.
#include "analysis/vector/row_collapse.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_body(std::string_view body) {
  return unit::ir(cat(
      "def f(a: inout(f32, (n, m)), b: inout(f32, (n, m)), d: inout(f32, (n, n, m)), x: inout(f32, (m,)), "
      "w: inout(i64, (n, m)), p: weak(i64)):\n  fp('default')\n  dims(n, m)\n  site('E303', a, 0)\n",
      body, "  return a\n"));
}
const For &loop_over(const Func &f, const std::string &iterator) {
  return *as<For>(unit::find_loop(f, iterator).loop);
}

/// The buffers of which a body in the loops i and j uses the element of this row and column.
std::string in_rows(std::string_view body) {
  Func f =
      with_body(cat("  for i in serial(0, n, 1):\n    for j in vector(0, m, 1, vector_width=8):\n", body));
  std::vector<std::string> out;
  for (const Buf &b : buffers_in_rows(loop_over(f, "i"), loop_over(f, "j"))) out.push_back(b->sym->name);
  return join_text(out, " ");
}

TEST(RowCollapse, the_element_of_a_row_and_column_is_used) {
  EXPECT_EQ(in_rows("      b[i, j] = a[i, j] + f32(1.0)\n"), "a b");
  EXPECT_EQ(in_rows("      b[i, j] = b[i, j] * a[i, j] * a[i, j]\n"), "b a");
  EXPECT_EQ(in_rows("      b[i, j] = d[p, i, j]\n"), "d b");
  EXPECT_EQ(in_rows("      if a[i, j] < f32(0.0):\n        b[i, j] = f32(0.0)\n"), "a b");
}

TEST(RowCollapse, cells_and_locals_of_an_iteration_do_not_matter) {
  EXPECT_EQ(in_rows("      t = alloc(f32, (), 'registers')\n      t[()] = a[i, j]\n"
                    "      b[i, j] = t[()] * t[()]\n"),
            "a b");
  EXPECT_EQ(in_rows("      u: f32 = a[i, j]\n      b[i, j] = u * u\n"), "a b");
}

TEST(RowCollapse, iterators_are_used_for_nothing_else) {
  for (std::string_view body :
       {"      b[i, j] = cast(f32, j)\n", "      b[i, j] = cast(f32, i)\n", "      b[i, j] = x[j]\n",
        "      b[i, j] = a[j, i]\n", "      b[i, j] = a[i, j + 1]\n", "      b[i, j] = a[0, j]\n",
        "      b[i, j] = d[i, i, j]\n", "      x[j] = a[i, j]\n"})
    EXPECT_EQ(in_rows(body), "") << body;
}

TEST(RowCollapse, other_elements_are_read_of_buffers_that_nothing_writes) {
  EXPECT_EQ(in_rows("      b[i, j] = a[i, j] * x[p]\n"), "a b");
  EXPECT_EQ(in_rows("      b[i, j] = a[i, j] * a[0, p]\n"), "a b");
  EXPECT_EQ(in_rows("      b[i, j] = a[i, j] * b[0, p]\n"), "");
}

TEST(RowCollapse, a_row_is_no_nest_and_checks_nothing) {
  EXPECT_EQ(in_rows("      for k in serial(0, p, 1):\n        b[i, j] = a[i, j]\n"), "");
  EXPECT_EQ(in_rows("      while b[i, j] < f32(1.0):\n        b[i, j] = b[i, j] + f32(1.0)\n"), "");
  EXPECT_EQ(in_rows("      check(p < n, site=0)\n      b[i, j] = a[i, j]\n"), "");
}

/// Whether the loop j, over a row of the loop i, is all that i does, for these loops.
bool is_row(std::string_view i, std::string_view j) {
  Func f = with_body(cat("  for i in ", i, ":\n    for j in ", j, ":\n      b[0, j] = f32(1.0)\n"));
  const For *row = row_of(loop_over(f, "i"), false);
  EXPECT_TRUE(!row || row == &loop_over(f, "j"));
  return row != nullptr;
}

TEST(RowCollapse, a_row_begins_at_0_and_its_length_is_one_for_all) {
  std::string_view rows = "serial(0, n, 1)";
  EXPECT_TRUE(is_row(rows, "vector(0, m, 1, vector_width=8)"));
  EXPECT_TRUE(is_row("serial(1, n, 1)", "vector(0, 16, 1, vector_width=8)"));
  for (std::string_view row :
       {"vector(1, m, 1, vector_width=8)", "vector(0, m, 2, vector_width=8)", "serial(0, m, 1)",
        "vector(0, i, 1, vector_width=8)", "vector(0, m - 1, 1, vector_width=8)"})
    EXPECT_FALSE(is_row(rows, row)) << row;
  EXPECT_FALSE(is_row("serial(0, n, 2)", "vector(0, m, 1, vector_width=8)"));
}

TEST(RowCollapse, a_row_in_a_region_may_run_in_blocks) {
  Func f = with_body(R"(  for i in parallel(0, n, 1):
    for j0 in parallel(0, m, 64, block_of=64):
      for j in vector(j0, min(m, j0 + 64), 1, vector_width=8):
        b[i, j] = a[i, j]
)");
  const For &rows = loop_over(f, "i");
  EXPECT_EQ(row_of(rows, true), &loop_over(f, "j"));
  EXPECT_EQ(row_of(rows, false), nullptr);
  const For &row = loop_over(f, "j");
  EXPECT_TRUE(can_flatten(rows, row, VectorizationAnalysis(row)));
}

bool flattens(std::string_view kind, std::string_view line) {
  Func f = with_body(cat("  s = alloc(i64, (), 'registers')\n  s[()] = 0\n  for i in ", kind,
                         ":\n    for j in vector(0, m, 1, vector_width=8):\n      ", line, "\n"));
  const For &rows = loop_over(f, "i");
  const For *row = row_of(rows, false);
  return row && can_flatten(rows, *row, VectorizationAnalysis(*row));
}

TEST(RowCollapse, rows_that_accumulate_stay_apart) {
  EXPECT_TRUE(flattens("serial(0, n, 1)", "b[i, j] = a[i, j]"));
  EXPECT_TRUE(flattens("parallel(0, n, 1)", "b[i, j] = a[i, j]"));
  EXPECT_FALSE(flattens("vector(0, n, 1, vector_width=8)", "b[i, j] = a[i, j]"));
  EXPECT_FALSE(flattens("serial(0, n, 1)", "s[()] = s[()] + w[i, j]"));
  EXPECT_FALSE(flattens("serial(0, n, 1)", "x[j] = a[i, j]"));
}

}  // namespace
}  // namespace kw
