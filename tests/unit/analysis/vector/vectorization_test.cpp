// Which loops have a form over lanes, and how their values move from lane to lane.
#include "analysis/vector/vectorization.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_loop(std::string_view body, std::string_view before = "") {
  return unit::ir(
      cat("def f(a: inout(f32, (n, n)), w: inout(i64, (n,)), h: inout(u8, (n,))):\n  fp('default')\n"
          "  dims(n)\n",
          before, "  for i in serial(0, n, 1):\n", body, "  return a\n"));
}
const For &loop_of(const Func &f) { return *as<For>(unit::find_loop(f, "i").loop); }
bool widens(std::string_view body, std::string_view before = "") {
  Func f = with_loop(body, before);
  return VectorizationAnalysis(loop_of(f)).is_vectorizable();
}

TEST(VectorizationAnalysis, assignments_conditions_and_inner_loops_widen) {
  EXPECT_TRUE(widens("    w[i] = w[i] + 1\n"));
  EXPECT_TRUE(widens("    if w[i] < 3:\n      w[i] = 2\n    else:\n      h[i] = u8(1)\n"));
  EXPECT_TRUE(widens("    for j in serial(0, n, 1):\n      a[i, j] = f32(0.0)\n"));
  EXPECT_TRUE(widens("    t = alloc(i64, (), 'registers')\n    t[()] = i\n    w[i] = t[()]\n"));
}

TEST(VectorizationAnalysis, what_lanes_cannot_do_together_does_not_widen) {
  EXPECT_FALSE(widens("    if w[i] < 3:\n      continue\n    w[i] = 1\n"));
  EXPECT_FALSE(widens("    for j in serial(0, i, 1):\n      a[i, j] = f32(0.0)\n"));
  EXPECT_FALSE(widens("    w[0] = i\n"));
  EXPECT_FALSE(widens("    w[i] = w[i] // (i + 1)\n"));
  EXPECT_FALSE(widens("    a[i, 0] = a[i, 0] % f32(2.0)\n"));
  EXPECT_FALSE(widens("    t = alloc(i64, (4,), 'stack')\n    t[0] = i\n    w[i] = t[0]\n"));
}

TEST(VectorizationAnalysis, a_while_runs_until_all_lanes_have_ended) {
  EXPECT_TRUE(widens("    while w[i] < 3:\n      w[i] = w[i] + 1\n"));
  EXPECT_TRUE(widens("    while w[i] < 3:\n      w[i] = w[i] + 1\n      if w[i] == 2:\n        break\n"));
  EXPECT_FALSE(widens("    while w[i] < 3:\n      w[0] = w[i] + 1\n"));
  EXPECT_FALSE(
      widens("    while w[i] < 3:\n      w[i] = w[i] + 1\n      for j in serial(0, n, 1):\n        break\n"));
  Func f = with_loop("    w[i] = 1\n"), g = with_loop("    while w[i] < 3:\n      w[i] = w[i] + 1\n");
  EXPECT_FALSE(VectorizationAnalysis(loop_of(f)).has_while());
  EXPECT_TRUE(VectorizationAnalysis(loop_of(g)).has_while());
}

/// The counters of the while in the loop, in text, from what stands before it and in it.
std::string counters(std::string_view before, std::string_view inside) {
  Func f =
      with_loop(cat("    p = alloc(i64, (), 'registers')\n    q = alloc(i64, (), 'registers')\n", before,
                    "    while (p[()] < n) and (q[()] < w[i]):\n", inside, "    w[i] = p[()] + q[()]\n"));
  const For &loop = loop_of(f);
  VectorizationAnalysis view(loop);
  EXPECT_TRUE(view.is_vectorizable());
  std::string out;
  walk(loop.body, [&](const While &n, const Stmt &) {
    if (out.empty())
      for (const UniformInduction &c : view.uniform_inductions(n))
        out += cat(c.cell->sym->name, "=", *as_int(c.first), " ");
  });
  return out;
}

TEST(VectorizationAnalysis, counters_of_a_while_begin_with_a_constant_and_count_in_each_iteration) {
  std::string_view both = "    p[()] = 3\n    q[()] = 4\n", p_counts = "      p[()] = p[()] + 1\n",
                   q_counts = "      q[()] = q[()] - 2\n";
  EXPECT_EQ(counters(both, cat(p_counts, q_counts)), "p=3 q=4 ");
  EXPECT_EQ(counters(both, cat(p_counts, "      if w[i] < 3:\n  ", q_counts)), "p=3 ");
  EXPECT_EQ(counters(both, cat(p_counts, q_counts, q_counts)), "p=3 ");
  EXPECT_EQ(counters(both, cat(p_counts, "      q[()] = q[()] + w[i]\n")), "p=3 ");
  EXPECT_EQ(counters(both, cat(p_counts, "      q[()] = q[()] * 2\n")), "p=3 ");
  EXPECT_EQ(counters("    p[()] = 3\n    q[()] = w[i]\n", cat(p_counts, q_counts)), "p=3 ");
  EXPECT_EQ(counters(cat(both, "    q[()] = w[i]\n"), cat(p_counts, q_counts)), "p=3 ");
  EXPECT_EQ(counters(cat(both, "    if w[i] < 3:\n      q[()] = 5\n"), cat(p_counts, q_counts)), "");
  EXPECT_EQ(counters(cat(both, "    for j in serial(0, n, 1):\n      q[()] = 5\n"), cat(p_counts, q_counts)),
            "");
  EXPECT_EQ(counters(both, cat(p_counts, "      if w[i] < 3:\n        break\n", q_counts)), "");
  EXPECT_EQ(counters(both, cat(p_counts, "      if w[i] < 3:\n        continue\n", q_counts)), "");
}

TEST(VectorizationAnalysis, selections_keep_scalars_that_nothing_else_uses) {
  std::string_view cells =
      "  s = alloc(f32, (), 'registers')\n  s[()] = f32(0.0)\n  p = alloc(i64, (), 'registers')\n  p[()] = "
      "0\n";
  auto selects = [&](std::string_view body) {
    Func f = with_loop(body, cells);
    VectorizationAnalysis view(loop_of(f));
    return view.is_vectorizable() && view.arg_reductions().size() == 1;
  };
  std::string_view pick = "    if a[0, i] < s[()]:\n      s[()] = a[0, i]\n      p[()] = i\n";
  EXPECT_TRUE(selects(pick));
  EXPECT_TRUE(selects(cat(pick, "    w[i] = 1\n")));
  EXPECT_TRUE(selects("    if w[i] < 3:\n      if s[()] <= a[0, i]:\n        s[()] = a[0, i]\n"));
  EXPECT_FALSE(selects(cat(pick, "    w[i] = p[()]\n")));
  EXPECT_FALSE(selects(cat(pick, "    p[()] = i\n")));
  EXPECT_FALSE(selects(cat(pick, "    a[1, i] = f32(0.0)\n")));  // it would run once more on other elements
  EXPECT_FALSE(
      selects("    for j in serial(0, 3, 1):\n      if a[j, i] < s[()]:\n        s[()] = a[j, i]\n"));
  EXPECT_FALSE(selects("    if a[0, 0] < a[0, i]:\n      a[0, 0] = a[0, i]\n"));
}

TEST(VectorizationAnalysis, a_scalar_from_outside_must_be_a_sum_whose_order_is_free) {
  std::string_view cell = "  s = alloc(i64, (), 'registers')\n  s[()] = 0\n",
                   real = "  s = alloc(f32, (), 'registers')\n  s[()] = f32(0.0)\n";
  EXPECT_TRUE(widens("    s[()] = s[()] + w[i]\n", cell));
  EXPECT_TRUE(widens("    if w[i] < 4:\n      s[()] = max(w[i], s[()])\n", cell));
  EXPECT_TRUE(widens("    w[i] = s[()]\n", cell));
  EXPECT_FALSE(widens("    s[()] = w[i]\n", cell));
  EXPECT_FALSE(widens("    s[()] = s[()] + w[i]\n    w[i] = s[()]\n", cell));
  EXPECT_FALSE(widens("    s[()] = s[()] + w[i]\n    s[()] = max(s[()], i)\n", cell));
  EXPECT_FALSE(widens("    s[()] = s[()] + a[i, 0]\n", real));
  EXPECT_TRUE(widens("    s[()] = min(s[()], a[i, 0])\n", real));
}

TEST(VectorizationAnalysis, a_sum_in_lanes_is_told_apart) {
  Func f = with_loop("    s[()] = (s[()] + a[0, i]) @ lanes(i)\n",
                     "  s = alloc(f32, (), 'registers')\n  s[()] = f32(0.0)\n");
  VectorizationAnalysis view(loop_of(f));
  EXPECT_TRUE(view.is_vectorizable() && view.has_lane_sums());
  EXPECT_TRUE(view.reductions().empty());
}

TEST(VectorizationAnalysis, steps_go_through_names_and_sums) {
  Func f = with_loop(
      "    q: i64 = 3 - 2 * i\n    r: i64 = w[i]\n    w[i] = q + n\n    w[i] = r\n    w[i] = 7\n"
      "    w[i] = i * i\n");
  const For &loop = loop_of(f);
  VectorizationAnalysis view(loop);
  std::vector<std::optional<int64_t>> steps;
  walk(loop.body, [&](const Store &n, const Stmt &) { steps.push_back(view.lane_stride(n.value)); });
  EXPECT_EQ(steps, (std::vector<std::optional<int64_t>>{-2, std::nullopt, 0, std::nullopt}));
}

TEST(VectorizationAnalysis, rows_and_places_apart_are_counted) {
  Func f = with_loop(
      "    a[0, i] = a[1, n - 1 - i] + a[i, 0] * a[2, 2]\n    w[w[i]] = w[i] + 1\n    h[i] = u8(0)\n");
  VectorizationAnalysis view(loop_of(f));
  EXPECT_EQ(view.work().rows, 5u);
  EXPECT_EQ(view.work().gathers, 1u);
  EXPECT_EQ(view.work().scatters, 1u);
  EXPECT_EQ(view.work().operations, 3u);
  EXPECT_EQ(view.widest_element(), 64u);
  EXPECT_EQ(view.narrowest_element(), 8u);
}

}  // namespace
}  // namespace kw
