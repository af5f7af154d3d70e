// Bounds: what is proved, what becomes a fact, what is checked; and that no proof outlives what it was about.
#include "transform/passes.h"

#include <gtest/gtest.h>

#include "codegen/interp/interp.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A kernel over a: f32[n, m], w: int64[k] and a Python int p with an output c: f32[n, m].
Func source(std::string_view lines) {
  std::string text = "def f(a, w, p):\n  c = output_tensor(a.shape, a.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  return unit::kernel(text + "  return c\n", unit::signature({unit::tensor(2), unit::tensor(1, DType::i64),
                                                              unit::weak(DType::i64)}));
}

/// "facts; checks" beyond the facts that every extent is at least 1.
std::string outcome(std::string_view lines) {
  Func f = guard_bounds(source(lines), unit::with_fma());
  EXPECT_EQ(verify(f), "") << print(f);
  std::string facts, checks;
  for (size_t i = 3; i < f.facts.size(); ++i) facts += cat(print(f.facts[i]), " ");
  walk(f.body, [&](const Check &n, const Stmt &) { checks += cat(" ", print(n.cond)); });
  return cat(facts, ";", checks);
}

TEST(GuardBounds, what_is_proved_costs_nothing) {
  EXPECT_EQ(outcome("for i, j in grid(c.shape):\n  c[i, j] = a[i, j]"), ";");
  EXPECT_EQ(outcome("for i in range(1, a.shape[0]):\n  c[i, 0] = a[i - 1, 0]"), ";");
  EXPECT_EQ(outcome("for i in range(a.shape[0]):\n  if i + 1 < a.shape[0]:\n    c[i, 0] = a[i + 1, 0]"), ";");
  EXPECT_EQ(outcome("for i in range(a.shape[0]):\n  c[i, 0] = a[max(i - 1, 0), min(i, a.shape[1] - 1)]"),
            ";");
  EXPECT_EQ(outcome("c[-1, -1] = 1.0"), ";");
}

TEST(GuardBounds, several_conditions_together_prove) {
  std::string_view nest = "for i in range(a.shape[0]):\n  for j in range(a.shape[0]):\n";
  EXPECT_EQ(outcome(cat(nest, "    if 2 * i < a.shape[0] and j < i:\n      c[i + j, 0] = 1.0")), ";");
  EXPECT_EQ(outcome(cat(nest, "    if i < j and j + 2 * i <= a.shape[0]:\n      c[3 * i, 0] = 1.0")), ";");
  EXPECT_EQ(outcome(cat(nest, "    if j == i // 2:\n      c[i - j, 0] = c[2 * j, 0]")), ";");
  EXPECT_EQ(outcome("for i in range(a.shape[0]):\n  c[i - i % 4, 0] = 1.0"), ";");
  EXPECT_EQ(outcome("for i in range(a.shape[0] // 2):\n  c[2 * i + 1, 0] = 1.0"), ";");
  // one short of a proof
  EXPECT_NE(outcome(cat(nest, "    if 2 * i <= a.shape[0] and j <= i:\n      c[i + j, 0] = 1.0")), ";");
  EXPECT_NE(outcome("for i in range(a.shape[0] // 2):\n  c[2 * i + 2, 0] = 1.0"), ";");
}

TEST(GuardBounds, a_guard_that_jumps_holds_in_what_follows) {
  std::string_view head = "for i in range(a.shape[0]):\n";
  EXPECT_EQ(outcome(cat(head, "  if i + 1 >= a.shape[0]:\n    continue\n  c[i, 0] = a[i + 1, 0]")), ";");
  EXPECT_EQ(outcome(cat(head, "  if i < 1 or i > p:\n    break\n  c[i, 0] = a[i - 1, 0]")), ";");
  EXPECT_EQ(outcome(cat(head, "  if i >= 1:\n    c[i, 0] = 2.0\n  else:\n    continue\n  c[i - 1, 0] = 1.0")),
            ";");
  EXPECT_EQ(outcome(cat(head,
                        "  if p < 0:\n    if p < -5:\n      break\n    else:\n      continue\n"
                        "  if p >= a.shape[0]:\n    continue\n  c[p, 0] = 1.0")),
            ";");
  EXPECT_EQ(outcome(cat(head, "  if i == 0:\n    continue\n  c[i, 0] = a[i - 1, 0]")), ";");
  EXPECT_EQ(outcome(cat(head, "  if a.shape[0] != i + 1:\n    c[i + 1, 0] = 1.0")), ";");
}

TEST(GuardBounds, a_guard_that_may_not_jump_says_nothing_behind_it) {
  std::string_view head = "for i in range(a.shape[0]):\n";
  EXPECT_NE(outcome(cat(head, "  if i == 0:\n    c[i, 0] = 1.0\n  c[i, 0] = a[i - 1, 0]")), ";");
  EXPECT_NE(outcome(cat(head, "  if i == 0:\n    if p > 0:\n      continue\n  c[i, 0] = a[i - 1, 0]")), ";");
  EXPECT_NE(outcome(cat(head, "  if i == 1:\n    continue\n  c[i, 0] = a[i - 1, 0]")), ";");
  // behind the loop, and in the next iteration, the guard is another one
  EXPECT_NE(outcome(cat(head, "  if p > i:\n    break\nc[p, 0] = 1.0")), ";");
  EXPECT_NE(outcome(cat(head, "  c[i - 1, 0] = 1.0\n  if i < 1:\n    continue")), ";");
  EXPECT_NE(outcome(cat(head,
                        "  for j in range(i):\n    if p < 0 or p >= a.shape[0]:\n      break\n"
                        "  c[p, 0] = 1.0")),
            ";");
}

TEST(GuardBounds, every_extent_is_at_least_one) {
  Func f = guard_bounds(source("c[0, 0] = 1.0"), unit::with_fma());
  std::string facts;
  for (const Expr &e : f.facts) facts += print(e) + " ";
  EXPECT_EQ(facts, "1 <= a_0 1 <= a_1 1 <= w_0 ");
}

TEST(GuardBounds, conditions_on_extents_and_parameters_become_facts) {
  EXPECT_EQ(outcome("for i in range(a.shape[0]):\n  c[i, i] = 1.0"), "a_0 <= a_1 ;");
  EXPECT_EQ(outcome("for i in range(p):\n  c[i, 0] = 1.0"), "p <= a_0 ;");
  EXPECT_EQ(outcome("for i in range(p):\n  c[i, 0] = a[i, 0]"), "p <= a_0 ;");  // once
  EXPECT_EQ(outcome("c[3, 0] = 1.0"), "4 <= a_0 ;");
}

TEST(GuardBounds, a_guarded_access_relates_sizes_only) {
  std::string_view guarded = "for i in range(a.shape[0]):\n  if a[i, 0] > 0.0:\n    c[i, 0] += w[i]";
  EXPECT_EQ(outcome(guarded), "a_0 <= w_0 ;");
  EXPECT_EQ(outcome("for i in range(p):\n  if w[0] > 0:\n    c[i, 0] = 1.0"),
            "; cast(u64, i) < cast(u64, a_0)");
}

TEST(GuardBounds, what_another_access_needs_proves_a_guarded_one) {
  EXPECT_EQ(outcome("for i in range(p):\n  if w[0] > 0:\n    c[i, 0] = 1.0\n  c[i, 0] += 1.0"), "p <= a_0 ;");
}

TEST(GuardBounds, a_guard_of_the_call_is_checked_with_it) {
  EXPECT_EQ(outcome("for i in range(a.shape[0]):\n  if p > 0:\n    c[i, 0] += w[i]"),
            "; cast(u64, i) < cast(u64, w_0)");
}

TEST(GuardBounds, other_guarded_accesses_are_checked_instead) {
  EXPECT_EQ(outcome("if p > 3:\n  c[3, 0] = 1.0"), "; u64(3) < cast(u64, a_0)");
  EXPECT_EQ(outcome("c[0, 0] = a[3, 0] if p > 3 else 0.0").find(";"), 0u);
}

TEST(GuardBounds, data_dependent_accesses_are_checked_where_they_happen) {
  EXPECT_EQ(outcome("for i in range(w.shape[0]):\n  c[w[i], 0] = 1.0"), "; cast(u64, w[i]) < cast(u64, a_0)");
}

TEST(GuardBounds, a_fault_names_the_place_of_the_access) {
  unit::Lowered l = unit::lower_text(
      "def f(w, p):\n  c = output_tensor(w.shape, w.dtype)\n  x = p\n  x = p + 1\n"
      "  y = p * 2\n  c[x] = w[ y ]\n  return c\n",
      unit::signature({unit::tensor(1), unit::weak(DType::i64)}));
  Func f = check_all_bounds(l.func, unit::with_fma());
  std::string places;
  for (const Site &s : f.sites) {
    Resolved r = resolve({Code::E303, s.loc, {}, {}, {}}, *l.sources);
    places += cat(r.line, ":", r.column, "-", r.end_column, " ");
  }
  EXPECT_EQ(places, "6:13-14 6:5-6 ");
}

TEST(GuardBounds, a_check_behind_a_lazy_operator_is_as_lazy) {
  Func f = guard_bounds(source("if p < 3 and a[p, 0] > 0.0:\n  c[0, 0] = 1.0"), unit::with_fma());
  EXPECT_NE(print(f).find("if p < 3:\n    check(cast(u64, p) < cast(u64, a_0), site=0)"), std::string::npos)
      << print(f);
  f = guard_bounds(source("c[0, 0] = 1.0 if p < 3 else a[p, 0]"), unit::with_fma());
  EXPECT_NE(print(f).find("if not (p < 3):\n    check("), std::string::npos) << print(f);
}

TEST(GuardBounds, one_site_for_each_place) {
  Func f =
      guard_bounds(source("for i in range(w.shape[0]):\n  c[w[i], 0] += a[w[i], w[i]]"), unit::with_fma());
  ASSERT_GE(f.sites.size(), 3u);
  EXPECT_EQ(f.sites[0].code, Code::E303);
  for (const Site &s : f.sites) EXPECT_TRUE(s.loc.known());
}

TEST(CheckAllBounds, checks_every_access_and_assumes_nothing) {
  Func f = check_all_bounds(source("for i, j in grid(c.shape):\n  c[i, j] = a[i, j]"), unit::with_fma());
  EXPECT_TRUE(f.facts.empty());
  int checks = 0;
  walk(f.body, [&](const Check &, const Stmt &) { ++checks; });
  EXPECT_EQ(checks, 4);
}

TEST(GuardBoundsWithoutFacts, trusts_loops_and_assumes_no_extent) {
  auto sites = [](std::string_view lines) {
    Func f = guard_bounds_without_facts(source(lines), unit::with_fma());
    EXPECT_TRUE(f.facts.empty());
    return f.sites.size();
  };
  EXPECT_EQ(sites("for i, j in grid(c.shape):\n  c[i, j] = c[i, j] + 1.0"), 0u);
  EXPECT_EQ(sites("c[0, 0] = 1.0"), 2u);  // of size 0 perhaps
  EXPECT_EQ(sites("for i in range(1, c.shape[0]):\n  c[i - 1, 0] = 1.0"), 1u);
}

/// Accesses that are out of bounds although a condition or loop bound said otherwise before a scalar changed.
TEST(GuardBounds, a_guard_ends_with_the_value_that_it_was_about) {
  std::string_view begin = "x = 0\nx = int(w[0])\nif 0 <= x and x < a.shape[0]:\n";
  EXPECT_NE(outcome(cat(begin, "  c[x, 0] = 1.0")), ";");
  EXPECT_NE(outcome(cat(begin, "  x = x + 5\n  c[x, 0] = 1.0")), ";");
  EXPECT_NE(outcome(cat(begin, "  for i in range(3):\n    c[x, 0] = 1.0\n    x = x + 5")), ";");
  EXPECT_NE(outcome(cat(begin, "  if p > 2:\n    x = x + 5\n  c[x, 0] = 1.0")), ";");
}

TEST(GuardBounds, a_loop_bound_is_the_value_at_its_entry) {
  EXPECT_NE(outcome("x = 0\nx = int(w[0])\nfor i in range(x):\n  x = int(w[1])\n  if x <= a.shape[0]:\n"
                    "    c[i, 0] = 1.0"),
            "2 <= w_0 ;");
}

TEST(GuardBounds, a_guard_over_an_element_ends_with_a_store) {
  Func f = unit::kernel(
      "def f(w, c):\n  for i in range(w.shape[0]):\n    if 0 <= w[i] and w[i] < c.shape[0]:\n"
      "      w[i] = w[i] + 7\n      c[w[i]] = 1.0\n  return w, c\n",
      unit::signature({unit::tensor(1, DType::i64), unit::tensor(1)}));
  EXPECT_FALSE(guard_bounds(f, unit::with_fma()).sites.empty());
}

/// p = -2**63: p - 1 wraps to 2**63 - 1, which is not negative, and p itself is below every extent.
TEST(GuardBounds, a_guard_that_can_wrap_proves_nothing) {
  EXPECT_NE(outcome("if 0 <= p - 1 and p <= a.shape[0]:\n  c[p - 1, 0] = 1.0"), ";");
  EXPECT_NE(outcome("for i in range(w.shape[0]):\n  if w[i] - 1 >= 0 and w[i] <= a.shape[0]:\n    c[w[i] - "
                    "1, 0] = 1.0"),
            ";");
}

TEST(GuardBounds, the_condition_of_a_while_is_checked_each_time) {
  Func f = unit::ir(
      "def f(w: buf(i64, (n,)), c: out(i64, (1,))):\n  fp('default')\n  dims(n)\n"
      "  k = alloc(i64, (), 'registers')\n  k[()] = 0\n  while 0 < w[k[()]]:\n    k[()] = k[()] + 1\n"
      "  c[0] = k[()]\n  return c\n");
  Func g = check_all_bounds(f, unit::with_fma());
  int64_t w[] = {1, 1, 1, 0}, result = -1, dims[] = {2};  // the third element lies outside
  void *data[] = {w, &result};
  InterpResult r = interpret(g, {data, dims, nullptr, nullptr});
  EXPECT_EQ(r.status, 1) << print(g);
}

/// Every access stays inside, or the run ends with a fault, as when each is checked. The plain body also runs
/// where an extent is 0.
TEST(GuardBounds, both_bodies_fault_exactly_where_a_check_of_everything_does) {
  std::string_view lines =
      "for i in range(w.shape[0]):\n  if i % 2 == 0:\n    c[w[i], 0] = a[i // 2, 0]\n"
      "  c[min(i, a.shape[0] - 1), w[i] // 2] = 2.0\n"
      "for i in range(c.shape[0]):\n  for j in range(1, c.shape[1]):\n    c[i, j] = a[i, j - 1]";
  Func main = guard_bounds(source(lines), unit::with_fma());
  Func plain = guard_bounds_without_facts(source(lines), unit::with_fma());
  Func checked = check_all_bounds(source(lines), unit::with_fma());
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  int faults = 0;
  for (int round = 0; round < 600; ++round) {
    bool any_size = round % 2 == 1;
    auto size = [&](int64_t usual) { return any_size ? static_cast<int64_t>(random() % 4) : usual; };
    int64_t dims[] = {size(8), size(4), size(6)};
    std::vector<int64_t> w(6);
    for (int64_t &x : w) x = static_cast<int64_t>(random() % 10) - 1;
    auto run = [&](const Func &f, std::vector<float> &c) {
      std::vector<float> a(32, 1.0f);
      uint64_t scalars[] = {0};
      void *data[] = {a.data(), w.data(), c.data()};
      return interpret(f, {data, dims, scalars, nullptr});
    };
    std::vector<float> c1(32, 0.0f), c2(32, 0.0f);
    InterpResult r1 = run(any_size ? plain : main, c1), r2 = run(checked, c2);
    ASSERT_EQ(r1.status, r2.status);
    ASSERT_EQ(r1.value, r2.value);
    ASSERT_EQ(r1.bound, r2.bound);
    ASSERT_EQ(c1, c2);
    faults += r1.status != 0;
  }
  EXPECT_GT(faults, 60);
}

TEST(GuardBounds, data_is_trusted_when_the_kernel_vouches_for_it) {
  auto checks = [](std::string_view lines, auto pass) {
    int n = 0;
    walk(pass(source(lines), unit::with_fma()).body, [&](const Check &, const Stmt &) { ++n; });
    return n;
  };
  std::string_view gather = "for i in range(w.shape[0]):\n  c[w[i], 0] = a[i * i, 0]";
  EXPECT_EQ(checks(gather, guard_bounds), 2);
  EXPECT_EQ(checks(gather, guard_bounds_but_data), 1);
  EXPECT_EQ(checks(gather, guard_bounds_without_facts), 4);
  EXPECT_EQ(checks(gather, guard_bounds_without_facts_but_data), 3);
  EXPECT_EQ(checks(gather, check_all_bounds), 5);
}

TEST(GuardBounds, a_continue_does_not_pass_by_the_check_of_a_while) {
  Func f = unit::ir(
      "def f(w: buf(i64, (n,)), c: out(i64, (1,))):\n  fp('default')\n  dims(n)\n"
      "  k = alloc(i64, (), 'registers')\n  k[()] = 0\n  while 0 < w[k[()]]:\n    k[()] = k[()] + 1\n"
      "    if k[()] < 5:\n      continue\n    k[()] = 0\n  c[0] = k[()]\n  return c\n");
  Func g = check_all_bounds(f, unit::with_fma());
  int64_t w[] = {1, 1, 1, 0}, result = -1, dims[] = {2};  // the third element lies outside
  void *data[] = {w, &result};
  InterpResult r = interpret(g, {data, dims});
  EXPECT_EQ(r.status, 1) << print(g);
  EXPECT_EQ(r.value, 2);
}

}  // namespace
}  // namespace kw
