// Estimates of work and workspace over extents.
#include "analysis/cost.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func over_matrix(std::string_view lines) {
  std::string text = "def f(a, w):\n  c = output_tensor(a.shape, a.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  return unit::kernel(text + "  return c\n", unit::signature({unit::tensor(2), unit::tensor(1, DType::i64)}));
}

std::string slots_of(std::string_view lines) {
  std::string out;
  for (const WorkspaceSlot &s : plan_workspace(over_matrix(lines)))
    out += cat(s.buf->sym->name, ": ", print(s.bytes), "; ");
  return out;
}

TEST(Workspace, heap_temporaries_are_rounded_up_to_64_bytes) {
  EXPECT_EQ(slots_of("t = allocate((2000,), float32)\nu = allocate((2001,), float64)"),
            "t: 8000; u: 16064; ");
  EXPECT_EQ(slots_of("t = allocate(a.shape[0], float64)"), "t: (((8 * (max(a_0, 0))) + 63) // 64) * 64; ");
  EXPECT_EQ(slots_of("t = allocate((4,), float64)"), "");  // on the stack
}

TEST(Workspace, sizes_in_loops_are_bounded_over_the_loop) {
  std::string text = slots_of("for i in range(a.shape[0]):\n  t = allocate(i + 1, float64)\n  t[0] = 1");
  EXPECT_NE(text.find("max(a_0, 0)"), std::string::npos) << text;
}

TEST(Workspace, temporaries_in_parallel_loops_belong_to_threads) {
  Func f = unit::ir(
      "def f(c: inout(f64, (n,))):\n  fp('strict')\n  dims(n)\n  t = alloc(f64, (n,), 'heap')\n"
      "  for i in parallel(0, n, 1):\n    for j in serial(0, n, 1):\n      u = alloc(f64, (n,), 'heap')\n"
      "      u[j] = 1.0\n      c[i] = u[j]\n  v = alloc(f64, (n,), 'heap')\n  return c\n");
  std::string text;
  for (const WorkspaceSlot &s : plan_workspace(f)) text += cat(s.buf->sym->name, s.per_thread ? "* " : " ");
  EXPECT_EQ(text, "t u* v ");
}

TEST(Workspace, a_size_that_depends_on_data_is_e102) {
  Func f = over_matrix("t = allocate(w[0], float64)\nt[0] = 1");
  try {
    plan_workspace(f);
    FAIL() << "accepted";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.found()[0].code, Code::E102);
  }
}

WorkEstimate work_of_first_loop(std::string_view body) {
  Func f = unit::ir(cat("def f(c: inout(f32, (n,))):\n  fp('strict')\n  dims(n)\n", body, "  return c\n"));
  return estimate_work(*as<For>(f.body));
}

TEST(Work, pieces_of_a_range_are_bounded_by_their_ends) {
  for (std::string_view range :
       {"0, min(n, 9), 1", "max(n - 9, 0), n, 1", "min(n, 9), -1, -1", "0, max(n, 3), 1"})
    EXPECT_TRUE(work_of_first_loop(cat("  for i in serial(", range, "):\n    c[0] = f32(1.0)\n")).bounded)
        << range;
}

TEST(Work, of_a_sum_in_lanes_is_that_of_the_loop_as_it_stands) {
  std::string_view lines =
      "  for i in parallel(0, n, 1):\n    if n < 64:\n      for j in serial(0, n, 1, max_trips=63):\n"
      "        c[i] = c[i] + f32(1.0)\n    else:\n      b: i64 = n >> 12\n      for k in serial(0, b, 1):\n"
      "        while c[i] < f32(2.0):\n          c[i] = f32(3.0)\n";
  Func f = unit::ir(cat("def f(c: inout(f32, (n,))):\n  fp('strict')\n  dims(n)\n", lines, "  return c\n"));
  f.body = rewrite(f.body, [](const For &n, const Stmt &s) {  // both forms are of one loop of the source
    For loop = n;
    loop.id = n.kind == ForKind::parallel ? 1 : 2;
    return for_loop(std::move(loop), s.loc());
  });
  WorkEstimate work = estimate_work(*as<For>(f.body));
  EXPECT_TRUE(work.bounded);
  EXPECT_EQ(print(work.operations).find("256"), std::string::npos) << print(work.operations);
}

TEST(Work, blocks_of_a_sum_in_lanes_are_counted_by_what_they_sum) {
  std::string_view lines =
      "  with let(m, i64, n if (0 < n) else 0):\n    blocks: i64 = (m + 4095) >> 12\n"
      "    for block in serial(0, blocks, 1):\n      first: i64 = block << 12\n"
      "      end: i64 = min(m, first + 4096)\n      with let(before, i64, first >> 6):\n"
      "        for row in serial(before, min((end + 63) >> 6, before + 64), 1):\n          c[row] = "
      "f32(1.0)\n";
  Func f = unit::ir(cat("def f(c: inout(f32, (n,))):\n  fp('strict')\n  dims(n)\n", lines, "  return c\n"));
  WorkEstimate work = estimate_work(f);
  EXPECT_TRUE(work.bounded);
  std::string text = print(work.operations);
  EXPECT_NE(text.find("+ 4095) // 4096"), std::string::npos) << text;
  EXPECT_NE(text.find("+ 63) // 64, 64)"), std::string::npos) << text;
}

TEST(Work, grows_with_the_product_of_trips) {
  WorkEstimate flat = estimate_work(over_matrix("for i in range(10):\n  c[0, 0] = a[0, 0]"));
  WorkEstimate nested =
      estimate_work(over_matrix("for i in range(10):\n  for j in range(20):\n    c[0, 0] = a[0, 0]"));
  ASSERT_TRUE(as_int(flat.operations) && as_int(nested.operations));
  EXPECT_GE(*as_int(nested.operations), 15 * *as_int(flat.operations));
  EXPECT_TRUE(nested.bounded);
}

TEST(Work, trip_counts_from_data_are_no_estimate) {
  WorkEstimate work = estimate_work(over_matrix("for i in range(w[0]):\n  c[0, 0] = 1.0"));
  EXPECT_FALSE(work.bounded);
  EXPECT_TRUE(estimate_work(over_matrix("for i in range(a.shape[0]):\n  c[i, 0] = 1.0")).bounded);
  EXPECT_FALSE(estimate_work(over_matrix("for i in range(-2**63, 2):\n  c[0, 0] = 1.0")).bounded);
}

TEST(Work, a_loop_over_data_that_visits_elements_ends_with_them) {
  auto bounded = [](std::string_view body) { return estimate_work(over_matrix(body)).bounded; };
  EXPECT_TRUE(bounded("for i in range(w[0], w[1]):\n  c[i, 0] = 1.0"));
  EXPECT_TRUE(bounded("t = 0.0\nfor i in range(w[0], w[1], 3):\n  t += a[2 * i + 1, 0]\nc[0, 0] = t"));
  EXPECT_FALSE(bounded("for i in range(w[0], w[1]):\n  if i > 3:\n    c[i, 0] = 1.0"));
  EXPECT_FALSE(bounded("for i in range(w[0], w[1]):\n  c[0, 0] = a[i, 0] if i < 3 else 1.0"));
  EXPECT_FALSE(bounded("for i in range(w[0], w[1]):\n  k = w[i % 2]\n  c[i - k, 0] = 1.0"));
  EXPECT_FALSE(bounded("for i in range(w[0], w[1]):\n  if i == 3:\n    continue\n  c[i, 0] = 1.0"));
}

/// The last loop with an iterator of this name.
const For &loop_over(const Func &f, std::string_view name) {
  const For *found = nullptr;
  walk(f.body, [&](const For &n, const Stmt &) { found = n.iter->name == name ? &n : found; });
  return *found;
}

TEST(Work, iterators_around_a_loop_are_known_where_it_begins) {
  Func f = over_matrix(
      "for k in range(a.shape[0]):\n  for i in range(k + 1, a.shape[0]):\n"
      "    for j in range(k + 1, a.shape[0]):\n      c[i, j] = a[k, j]");
  const For &middle = loop_over(f, "i");
  WorkEstimate work = estimate_work(middle);
  EXPECT_TRUE(work.bounded);
  std::string text = print(work.operations);
  EXPECT_NE(text.find("a_0 - (k + 1)"), std::string::npos) << text;
}

TEST(Work, iterators_that_cancel_are_in_no_estimate) {
  Func f = over_matrix(
      "for k in range(a.shape[0]):\n  for i in range(a.shape[0]):\n"
      "    for j in range(i + k, i + 2 * k + 1):\n      c[i, k] += a[j, k]");
  const For &middle = loop_over(f, "i");
  WorkEstimate work = estimate_work(middle);
  EXPECT_TRUE(work.bounded);
  bool inside = false;
  walk(work.operations, [&](const Ref &n, const Expr &) { inside |= n.sym == middle.iter; });
  EXPECT_FALSE(inside) << print(work.operations);
}

TEST(Work, steps_divide_the_trips) {
  int64_t one = *as_int(estimate_work(over_matrix("for i in range(1000):\n  c[0, 0] = 1.0")).operations);
  int64_t ten =
      *as_int(estimate_work(over_matrix("for i in range(1000, 0, -10):\n  c[0, 0] = 1.0")).operations);
  EXPECT_LT(ten, one / 5);
  EXPECT_GE(ten, one / 20);
}

TEST(Work, a_block_of_a_longer_loop_has_no_more_iterations_than_the_loop) {
  Func f = unit::ir(
      "def f(c: inout(f64, (n,))):\n  fp('strict')\n  dims(n)\n  for b in parallel(0, n, 1000):\n"
      "    for i in vector(b, min(n, b + 1000), 1, vector_width=8):\n      c[i] = 1.0\n  return c\n");
  WorkEstimate work = estimate_work(f);
  EXPECT_TRUE(work.bounded);
  EXPECT_NE(print(work.operations).find("min(n, 1000)"), std::string::npos) << print(work.operations);
}

}  // namespace
}  // namespace kw
