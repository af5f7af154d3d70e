// Which cells are kept in vector registers: those of minima and maxima that serial loops go on with.
#include "transform/lowering/passes.h"

#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_body(std::string_view body) {
  return unit::ir(
      cat("def f(a: inout(i32, (n,)), b: inout(i64, (n,)), c: inout(f32, (n,))):\n"
          "  fp('strict')\n  dims(n)\n",
          body, "  return a\n"));
}

Target with_minimum() {
  Target out = unit::with_fma();
  out.features.emplace_back("sse4.1");  // behind sse2: they are sorted
  return out;
}

/// The marked cells.
std::string marked(std::string_view body) {
  Func f = mark_recurrences(with_body(body), with_minimum());
  EXPECT_EQ(verify(f), "");
  EXPECT_TRUE(equal(unit::ir(print(f).substr(10)), f));
  std::vector<std::string> out;
  walk(f.body, [&](const Alloc &n, const Stmt &) {
    if (n.in_vector) out.push_back(n.buf->sym->name);
  });
  return join_text(out, " ");
}

/// A serial loop with these lines over a cell s of i32, and more behind it.
std::string recurrence(std::string_view lines, std::string_view behind = "") {
  return cat("  s = alloc(i32, (), 'registers')\n  s[()] = i32(9)\n  for i in serial(0, n, 1):\n", lines,
             behind, "  a[0] = s[()]\n");
}

constexpr std::string_view least = "    s[()] = min(s[()], a[i])\n";

TEST(MarkRecurrences, the_cell_of_a_minimum_in_a_serial_loop_is_marked) {
  EXPECT_EQ(marked(recurrence(least)), "s");
  Func f = mark_recurrences(with_body(recurrence(least)), with_minimum());
  EXPECT_NE(print(f).find("  s = alloc(i32, (), 'registers', in_vector=1)\n"), std::string::npos) << print(f);
}

TEST(MarkRecurrences, the_cell_may_be_read_behind_sums_and_under_a_name) {
  EXPECT_EQ(marked(recurrence("    s[()] = max(a[i], min(a[0], s[()] - i32(1)))\n")), "s");
  EXPECT_EQ(marked(recurrence("    t: i32 = min(s[()] + i32(1), a[i])\n    s[()] = t\n    a[i] = t\n")), "s");
}

TEST(MarkRecurrences, other_values_gain_nothing) {
  EXPECT_EQ(marked(recurrence("    s[()] = s[()] + a[i]\n")), "");
  EXPECT_EQ(marked(recurrence("    s[()] = min(a[i], i32(3))\n")), "");
  EXPECT_EQ(marked(recurrence("    s[()] = min(s[()] * i32(2), a[i])\n")), "");
  EXPECT_EQ(marked("  s = alloc(i32, (), 'registers')\n  s[()] = a[1]\n  s[()] = min(s[()], a[2])\n"
                   "  a[0] = s[()]\n"),
            "");
}

TEST(MarkRecurrences, cells_of_other_types_and_memory_stay) {
  EXPECT_EQ(marked("  s = alloc(f32, (), 'registers')\n  s[()] = c[0]\n  for i in serial(0, n, 1):\n"
                   "    s[()] = min(s[()], c[i])\n  c[0] = s[()]\n"),
            "");
  EXPECT_EQ(marked("  s = alloc(i64, (), 'registers')\n  s[()] = b[0]\n  for i in serial(0, n, 1):\n"
                   "    s[()] = min(s[()], b[i])\n  b[0] = s[()]\n"),
            "");
  EXPECT_EQ(marked("  s = alloc(i32, (), 'stack')\n  s[()] = a[0]\n  for i in serial(0, n, 1):\n"
                   "    s[()] = min(s[()], a[i])\n  a[0] = s[()]\n"),
            "");
}

TEST(MarkRecurrences, cells_that_vector_or_parallel_loops_use_stay) {
  EXPECT_EQ(marked(recurrence(least, "  for j in serial(0, n, 1):\n    a[j] = s[()]\n")), "s");
  EXPECT_EQ(marked(recurrence(least, "  for j in vector(0, n, 1, vector_width=8):\n    a[j] = s[()]\n")), "");
  EXPECT_EQ(marked(recurrence(least,
                              "  for j in vector(0, n, 1, vector_width=8):\n    s[()] = max(s[()], a[j])\n")),
            "");
  EXPECT_EQ(marked(recurrence(least, "  for j in parallel(0, n, 1):\n    a[j] = s[()]\n")), "");
}

TEST(MarkRecurrences, cells_of_the_lanes_of_a_vector_loop_stay) {
  auto inside = [](std::string_view kind) {
    return marked(cat("  for j in ", kind, R"(:
    s = alloc(i32, (), 'registers')
    s[()] = a[j]
    for i in serial(0, n, 1):
      s[()] = min(s[()], cast(i32, b[i]))
    a[j] = s[()]
)"));
  };
  EXPECT_EQ(inside("parallel(0, n, 1)"), "s");
  EXPECT_EQ(inside("vector(0, n, 1, vector_width=8)"), "");
}

TEST(MarkRecurrences, machines_without_a_minimum_of_int32_mark_nothing) {
  Func f = with_body(recurrence(least));
  Target target = with_minimum();
  target.features.clear();
  EXPECT_EQ(mark_recurrences(f, target).body.p, f.body.p);
}

}  // namespace
}  // namespace kw
