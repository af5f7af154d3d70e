// Which loops get copies of their bodies, and what keeps a loop as it is.
#include "transform/lowering/passes.h"

#include <gtest/gtest.h>

#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The unrolled loops of a function over w: i64[n, m], v: i64[n] and an int p, as "i/4".
std::string unrolled(std::string_view body) {
  Func f = unroll_inner_loops(
      unit::ir(cat("def f(w: inout(i64, (n, m)), v: inout(i64, (n,)), p: weak(i64)):\n  fp('strict')\n"
                   "  dims(n, m)\n  site('E303', v, 0)\n",
                   body, "  return w\n")),
      unit::with_fma());
  EXPECT_EQ(verify(f), "");
  std::vector<std::string> out;
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.how.unroll) out.push_back(cat(n.iter->name, "/", n.how.unroll));
  });
  return join_text(out, " ");
}

std::string loop_with(std::string_view body) { return unrolled(cat("  for i in serial(0, n, 1):\n", body)); }
std::string loop_over(std::string_view range) {
  return unrolled(cat("  for i in ", range, ":\n    v[i] = v[i] + 1\n"));
}

TEST(UnrollInnerLoops, loops_with_short_bodies_get_four_copies) {
  EXPECT_EQ(loop_over("serial(0, n, 1)"), "i/4");
  EXPECT_EQ(loop_over("parallel(0, n, 1)"), "i/4");
  EXPECT_EQ(loop_with("    k: i64 = v[i]\n    w[i, 0] = k\n    w[i, 1] = k * k\n"), "i/4");
}

TEST(UnrollInnerLoops, vector_loops_and_flattened_ones_stay) {
  EXPECT_EQ(loop_over("vector(0, n, 1, vector_width=8)"), "");
  EXPECT_EQ(loop_over("parallel(0, n, 1, flatten=1)"), "");
}

TEST(UnrollInnerLoops, the_loops_around_a_long_loop_stay) {
  EXPECT_EQ(loop_with("    for j in serial(0, m, 1):\n      w[i, j] = j\n"), "j/4");
  EXPECT_EQ(loop_with("    v[i] = 0\n    for j in vector(0, m, 1, vector_width=8):\n      w[i, j] = j\n"),
            "");
  EXPECT_EQ(loop_with("    while v[i] < 3:\n      v[i] = v[i] + 1\n"), "");
}

TEST(UnrollInnerLoops, bodies_with_branches_stay) {
  EXPECT_EQ(loop_with("    v[i] = 1 if (v[i] < 3) else 2\n"), "");
  EXPECT_EQ(loop_with("    k: b1 = (v[i] < 3) and (i < p)\n    v[i] = cast(i64, k)\n"), "");
  EXPECT_EQ(loop_with("    if v[i] < 3:\n      v[i] = 2\n"), "");
  EXPECT_EQ(loop_with("    check(v[i] < n, site=0)\n"), "");
}

TEST(UnrollInnerLoops, bodies_with_many_operations_stay) {
  auto sum = [](int loads) {  // and one addition less
    std::string out = "    w[i, 0] = v[i]";
    for (int k = 1; k < loads; ++k) out += " + v[i]";
    return out + "\n";
  };
  EXPECT_EQ(loop_with(sum(10)), "i/4");
  EXPECT_EQ(loop_with(sum(11)), "");
  EXPECT_EQ(loop_with(cat(sum(5), sum(5))), "i/4");
  EXPECT_EQ(loop_with(cat(sum(6), sum(6))), "");
}

TEST(UnrollInnerLoops, loops_that_are_short_stay) {
  EXPECT_EQ(loop_over("serial(0, 4096, 1, max_trips=4096)"), "");
  EXPECT_EQ(loop_over("serial(0, 4097, 1, max_trips=4097)"), "i/4");
  EXPECT_EQ(loop_over("serial(9, 9, 1)"), "");
  EXPECT_EQ(loop_over("serial(0, n, 1, max_trips=3)"), "");
  EXPECT_EQ(loop_over("serial(0, n, 1, max_trips=4)"), "i/4");
}

TEST(UnrollInnerLoops, loops_that_hand_on_a_value_in_a_cell_stay) {
  EXPECT_EQ(unrolled("  s = alloc(i64, (), 'registers')\n  s[()] = 0\n  for i in serial(0, n, 1):\n"
                     "    s[()] = s[()] + v[i]\n  v[0] = s[()]\n"),
            "");
  EXPECT_EQ(loop_with("    t = alloc(i64, (), 'registers')\n    t[()] = v[i]\n    v[i] = t[()] * t[()]\n"),
            "i/4");
}

TEST(UnrollInnerLoops, a_condition_on_a_cell_of_the_iteration_is_no_branch) {
  auto clamped = [](std::string_view alloc, std::string_view branch) {
    return loop_with(cat("    t = alloc(i64, (), 'registers'", alloc,
                         ")\n    t[()] = v[i]\n    if t[()] < 3:\n", branch, "    v[i] = t[()]\n"));
  };
  EXPECT_EQ(clamped("", "      t[()] = 3\n"), "i/4");
  EXPECT_EQ(clamped("", "      t[()] = 3\n    else:\n      t[()] = 4\n"), "");
  EXPECT_EQ(clamped("", "      t[()] = v[0]\n"), "");
  EXPECT_EQ(clamped(", in_vector=1", "      t[()] = 3\n"), "");
}

}  // namespace
}  // namespace kw
