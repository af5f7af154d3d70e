// How vector loops execute their last iterations on several machines, what they prefetch and assume.
#include "analysis/vector/vector_plan.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "ir/print.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

/// A function with a vector loop i over x, y, z: f32[n], c: f32[n, m], g: f64[n], w: i64[n] and h: u8[n], and
/// cells s: i64 and r: f32.
Func with_loop(std::string_view body) {
  return unit::ir(
      cat("def f(x: buf(f32, (n,)), y: inout(f32, (n,)), z: inout(f32, (n,)), c: buf(f32, (n, m)), "
          "g: inout(f64, (n,)), w: buf(i64, (n,)), h: inout(u8, (n,))):\n"
          "  fp('default')\n  dims(n, m)\n  s = alloc(i64, (), 'registers')\n  s[()] = 0\n"
          "  r = alloc(f32, (), 'registers')\n  r[()] = f32(0.0)\n"
          "  for i in vector(0, n, 1, vector_width=16):\n",
          body, "  return y\n"));
}
const For &loop_of(const Func &f) { return *as<For>(unit::find_loop(f, "i").loop); }

bool repeats(std::string_view body) {
  Func f = with_loop(body);
  VectorizationAnalysis view(loop_of(f));
  return may_run_again(loop_of(f), view);
}

TEST(VectorPlan, iterations_may_run_again_that_read_nothing_which_the_loop_writes) {
  EXPECT_TRUE(repeats("    y[i] = x[i] + z[i]\n"));
  EXPECT_TRUE(repeats("    t = alloc(f32, (), 'registers')\n    t[()] = x[i]\n    y[i] = t[()] * t[()]\n"));
  EXPECT_FALSE(repeats("    y[i] = y[i] + x[i]\n"));
  EXPECT_FALSE(repeats("    y[i] = x[i]\n    z[i] = y[i]\n"));
}

TEST(VectorPlan, iterations_that_accumulate_run_once) {
  EXPECT_FALSE(repeats("    s[()] = s[()] + w[i]\n"));
  EXPECT_FALSE(repeats("    if x[i] < r[()]:\n      r[()] = x[i]\n"));
  EXPECT_FALSE(repeats("    r[()] = (r[()] + x[i]) @ lanes(i)\n"));
}

/// "masked prefetch c:3": the plan of a loop with this body.
std::string plan(std::string_view body, const Target &target, bool in_loop = true) {
  Func f = with_loop(body);
  VectorizationAnalysis view(loop_of(f));
  EXPECT_TRUE(view.is_vectorizable());
  VectorPlan best = best_plan(loop_of(f), view, target, in_loop);
  std::string out(tail_text(best.tail));
  if (best.prefetch) out += " prefetch";
  for (const RowLength &row : best.rows) out += cat(" ", row.buf->sym->name, ":", row.length);
  return out;
}

TEST(VectorPlan, tails_of_loops_in_loops_overlap_where_iterations_may_repeat) {
  std::string_view copy = "    y[i] = x[i]\n", in_place = "    y[i] = y[i] + x[i]\n";
  EXPECT_EQ(plan(copy, unit::avx512_machine()), "overlapped_or_masked");
  EXPECT_EQ(plan(copy, unit::without_fma()), "overlapped");
  EXPECT_EQ(plan(copy, unit::avx512_machine(), false), "masked");
  EXPECT_EQ(plan(copy, unit::without_fma(), false), "scalar");
  EXPECT_EQ(plan(in_place, unit::avx512_machine()), "masked");
  EXPECT_EQ(plan(in_place, unit::without_fma()), "scalar");
}

TEST(VectorPlan, masks_are_those_that_the_machine_has) {
  std::string_view bytes = "    h[i] = u8(1)\n", apart = "    y[i] = x[w[i]]\n";
  EXPECT_EQ(plan(bytes, unit::avx512_machine(), false), "masked");
  EXPECT_EQ(plan(bytes, unit::avx2_machine(), false), "scalar");
  EXPECT_EQ(plan(apart, unit::avx512_machine(), false), "masked");
  EXPECT_EQ(plan(apart, unit::avx2_machine(), false), "scalar");
  EXPECT_EQ(plan("    y[i] = x[i]\n", unit::avx2_machine(), false), "masked");
}

TEST(VectorPlan, long_bodies_are_not_repeated) {
  auto product = [](int times) {
    std::string out = "    y[i] = x[i]";
    for (int k = 0; k < times; ++k) out += " * f32(2.0)";
    return plan(out + "\n", unit::avx512_machine());
  };
  EXPECT_EQ(product(64), "overlapped_or_masked");
  EXPECT_EQ(product(65), "masked");
  EXPECT_EQ(plan("    for j in serial(0, m, 1):\n      y[i] = c[i, j]\n", unit::avx512_machine()), "masked");
  EXPECT_EQ(plan("    y[i] = exp(x[i])\n", unit::avx512_machine()), "overlapped_or_masked");
  EXPECT_EQ(plan("    y[i] = log(x[i])\n", unit::avx512_machine()), "overlapped_or_masked");
  EXPECT_EQ(plan("    g[i] = log(cast(f64, x[i]))\n", unit::avx512_machine()), "masked");
  EXPECT_EQ(plan("    y[i] = sin(x[i])\n", unit::avx512_machine()), "masked");
}

TEST(VectorPlan, reductions_prefetch) {
  EXPECT_EQ(plan("    s[()] = s[()] + w[i]\n", unit::avx512_machine()), "masked prefetch");
  EXPECT_EQ(plan("    if x[i] < r[()]:\n      r[()] = x[i]\n", unit::avx512_machine()), "masked prefetch");
}

TEST(VectorPlan, rows_are_assumed_as_long_as_the_columns_that_the_loop_names) {
  EXPECT_EQ(plan("    y[i] = c[i, 0] * c[i, 2]\n", unit::avx512_machine(), false), "masked c:3");
  EXPECT_EQ(plan("    y[i] = c[0, i] * c[1, i]\n", unit::avx512_machine(), false), "masked");
  EXPECT_EQ(plan("    y[i] = c[i, 0] * c[i, 4]\n", unit::avx512_machine(), false), "masked");
}

}  // namespace
}  // namespace kw
