// What the lowering of ordered sums leaves: plain loops without marks. What they compute is compared with the
// order of language.md in codegen/lanes_test.
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
  return unit::ir(cat("def f(a: buf(f32, (n,)), s: inout(f32, (n,))):\n  fp('default')\n  dims(n)\n", body,
                      "  return s\n"));
}

size_t count_lanes(const Func &f) {
  std::vector<Order> all = unit::orders(f);
  return static_cast<size_t>(std::count(all.begin(), all.end(), Order::lanes));
}

TEST(LowerReductions, no_mark_is_left) {
  for (std::string_view body : {"  for k in serial(0, n, 1):\n    s[0] = (s[0] + a[k]) @ lanes(k)\n",
                                "  for i in serial(0, n, 1):\n    for k in serial(0, i, 1):\n      s[i] = "
                                "(s[i] * a[k]) @ lanes(k)\n"}) {
    Func f = with_body(body), lowered = lower_reductions(f, unit::with_fma());
    EXPECT_EQ(count_lanes(f), 1u);
    EXPECT_EQ(count_lanes(lowered), 0u);
    EXPECT_EQ(verify(lowered), "") << print(lowered);
    EXPECT_FALSE(equal(f, lowered));
  }
}

/// From 8 on, one loop over all of them counts their blocks.
TEST(LowerReductions, many_sums_are_counted_in_one_loop) {
  auto text_of = [](int count, std::string_view kind) {
    std::string body = cat("  for k in ", kind, "(0, n, 1, vector_width=64):\n");
    for (int i = 0; i < count; ++i)
      body += cat("    s[", i, "] = (s[", i, "] + a[k] * f32(", i, ".5)) @ lanes(k)\n");
    Func lowered = lower_reductions(with_body(body), unit::with_fma());
    EXPECT_EQ(verify(lowered), "") << print(lowered);
    return print(lowered);
  };
  EXPECT_EQ(text_of(7, "vector").find("for sum"), std::string::npos);
  std::string serial = text_of(9, "vector"), threads = text_of(9, "parallel");
  EXPECT_NE(serial.find("for sum in serial(0, 9, 1)"), std::string::npos) << serial;
  EXPECT_NE(serial.find("partial[sum, level[()]] = carry[sum]"), std::string::npos) << serial;
  EXPECT_NE(threads.find("carry[sum"), std::string::npos) << threads;
  EXPECT_NE(threads.find("sums[sum"), std::string::npos) << threads;
}

TEST(LowerReductions, sums_in_source_order_stay_as_they_are) {
  Func f = with_body("  for k in serial(0, n, 1):\n    s[0] = s[0] + a[k]\n");
  EXPECT_EQ(lower_reductions(f, unit::with_fma()).body.p, f.body.p);
}

/// Kinds of the loops and spaces of the buffers that a sum over a vector loop of this width gets.
std::string made(std::string_view loops, const Target &target) {
  Func lowered = lower_reductions(with_body(loops), target);
  EXPECT_EQ(verify(lowered), "") << print(lowered);
  std::string out;
  walk(
      lowered.body,
      [&](const For &n, const Stmt &) {
        if (n.kind == ForKind::parallel) out += cat("threads by ", n.how.chunk, " ");
      },
      [&](const Alloc &n, const Stmt &) {
        if (n.buf->sym->name == "lanes") out += n.buf->space == Space::registers ? "cell" : "memory";
      });
  return out;
}

Target without_masks() { return {"x86_64-unknown-linux-gnu", {"sse2"}}; }

TEST(LowerReductions, rows_stay_in_registers_where_a_row_can_end_early) {
  Target masks{"x86_64-unknown-linux-gnu", {"avx", "avx2", "avx512bw", "avx512f", "fma"}};
  std::string_view row =
                       "  for k in vector(0, n, 1, vector_width=64):\n    s[0] = (s[0] + a[k]) @ lanes(k)\n",
                   half =
                       "  for k in vector(0, n, 1, vector_width=32):\n    s[0] = (s[0] + a[k]) @ lanes(k)\n";
  EXPECT_EQ(made(row, masks), "cell");
  EXPECT_EQ(made(half, masks), "memory");
  EXPECT_EQ(made(row, without_masks()), "memory");
}

TEST(LowerReductions, blocks_of_a_parallel_loop_run_on_threads) {
  std::string_view all =
      "  for k in parallel(0, n, 1, vector_width=64):\n    s[0] = (s[0] + a[k]) @ lanes(k)\n";
  EXPECT_EQ(made(all, without_masks()), "threads by 25 memory");
  std::string_view some =
      "  for k in parallel(0, n, 1, vector_width=64):\n    if f32(0.0) < a[k]:\n"
      "      s[0] = (s[0] + a[k]) @ lanes(k)\n";
  EXPECT_EQ(made(some, without_masks()), "memory");  // an element that may never be reached
}

}  // namespace
}  // namespace kw
