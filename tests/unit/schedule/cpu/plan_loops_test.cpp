// Which plans vector loops and parallel loops get on several machines, as lines of the recorded schedule.
#include "schedule/cpu/steps.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "schedule/replay.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

/// The directives for a function that reads a: f32[n, m] and x: f32[n], writes b: f32[n, m] and y: f32[n],
/// and does both with z: f32[n] and w: i64[n], joined by "; ". They replay, and are the same without a
/// record.
std::string planned(std::string_view body, const Target &target = unit::avx512_machine()) {
  Func f = unit::ir(
      cat("def f(a: buf(f32, (n, m)), x: buf(f32, (n,)), b: out(f32, (n, m)), y: out(f32, (n,)), "
          "z: inout(f32, (n,)), w: inout(i64, (n,)), p: weak(i64)):\n  fp('default')\n  dims(n, m)\n",
          body, "  return b, y, z, w\n"));
  LoopNest recorded(f), silent(f);
  recorded.record();
  plan_loops(recorded, target);
  plan_loops(silent, target);
  EXPECT_TRUE(recorded.rejections().empty());
  EXPECT_EQ(verify(recorded.func()), "");
  EXPECT_EQ(print(silent.func()), print(recorded.func()));
  EXPECT_EQ(unit::replay_error(f, texts_of(recorded.steps()), recorded.func()), "");
  return join_text(texts_of(recorded.steps()), "; ");
}

constexpr std::string_view copy = R"(  for i in vector(0, n, 1, vector_width=16):
    y[i] = x[i]
)";
constexpr std::string_view in_place = R"(  for i in vector(0, n, 1, vector_width=16):
    z[i] = z[i] + f32(1.0)
)";
constexpr std::string_view repeated_copy = R"(  for t in serial(0, p, 1):
    for i in vector(0, n, 1, vector_width=16):
      y[i] = x[i]
)";

TEST(PlanLoops, tails_are_masked_and_outputs_bypass_the_caches) {
  EXPECT_EQ(planned(copy), "tail i masked; stream i");
  EXPECT_EQ(planned(in_place), "tail i masked");
  EXPECT_EQ(planned(cat(copy, "  z[0] = y[0]\n")), "tail i masked");
}

TEST(PlanLoops, tails_of_loops_in_loops_overlap) {
  EXPECT_EQ(planned(repeated_copy), "tail i overlapped_or_masked; stream i");
  constexpr std::string_view in_while = R"(  while w[0] < 3:
    w[0] = w[0] + 1
    for i in vector(0, n, 1, vector_width=16):
      y[i] = x[i]
)";
  EXPECT_EQ(planned(in_while), "tail i overlapped_or_masked; stream i");
}

TEST(PlanLoops, machines_without_masks_and_large_caches_do_less) {
  EXPECT_EQ(planned(copy, unit::without_fma()), "");
  EXPECT_EQ(planned(repeated_copy, unit::without_fma()), "tail i overlapped");
}

TEST(PlanLoops, reductions_prefetch) {
  constexpr std::string_view sum = R"(  s = alloc(i64, (), 'registers')
  s[()] = 0
  for i in vector(0, n, 1, vector_width=16):
    s[()] = s[()] + w[i]
  w[0] = s[()]
)";
  EXPECT_EQ(planned(sum), "tail i masked; prefetch i");
}

TEST(PlanLoops, inner_loops_are_transposed_where_rows_become_contiguous) {
  constexpr std::string_view turned = R"(  for i in vector(0, n, 1, vector_width=16):
    for j in serial(0, n, 1):
      b[i, j] = a[j, i]
)";
  auto by = [&](std::string_view lanes) {
    std::string text(turned);
    return text.replace(text.find("16"), 2, lanes);
  };
  EXPECT_EQ(planned(turned), "tail i masked; transpose j; stream j");
  EXPECT_EQ(planned(by("8"), unit::avx2_machine()), "transpose j; stream j");
  EXPECT_EQ(planned(by("4"), unit::without_fma()), "transpose j");
  // a row of a block is one register
  EXPECT_EQ(planned(by("32")), "tail i masked");
  EXPECT_EQ(planned(turned, unit::avx2_machine()), "");
  EXPECT_EQ(planned(by("8"), unit::without_fma()), "");
  constexpr std::string_view sums_of_rows = R"(  for i in vector(0, n, 1, vector_width=16):
    s = alloc(f32, (), 'registers')
    s[()] = f32(0.0)
    for j in serial(0, m, 1):
      s[()] = s[()] + a[i, j]
    y[i] = s[()]
)";
  EXPECT_EQ(planned(sums_of_rows), "tail i masked; transpose j");
  constexpr std::string_view rows = R"(  for i in vector(0, m, 1, vector_width=16):
    for j in serial(0, n, 1):
      b[j, i] = a[j, i]
)";
  EXPECT_EQ(planned(rows), "tail i masked");
}

TEST(PlanLoops, loops_over_named_columns_get_a_version_for_rows_of_that_length) {
  constexpr std::string_view columns = R"(  for i in vector(0, n, 1, vector_width=16):
    y[i] = a[i, 0] + a[i, 2]
)";
  EXPECT_EQ(planned(columns), "tail i masked; assume_rows a at i by 3; stream i");
}

TEST(PlanLoops, rows_are_flattened_and_threads_share_both_loops) {
  constexpr std::string_view in_blocks = R"(  for i in parallel(0, n, 1):
    for j0 in parallel(0, m, 64, block_of=64):
      for j in vector(j0, min(m, j0 + 64), 1, vector_width=16):
        b[i, j] = a[i, j] + f32(1.0)
)";
  EXPECT_EQ(planned(in_blocks), "collapse i; flatten i; tail j overlapped_or_masked; stream j");
  constexpr std::string_view serial_rows = R"(  for i in serial(0, n, 1):
    for j in vector(0, m, 1, vector_width=16):
      b[i, j] = a[i, j]
)";
  EXPECT_EQ(planned(serial_rows), "flatten i; tail j overlapped_or_masked; stream j");
  constexpr std::string_view threads = R"(  for t in parallel(0, p, 1):
    for i in parallel(0, n, 1):
      for j in parallel(0, m, 1):
        b[i, j] = a[i, j]
)";
  EXPECT_EQ(planned(threads), "collapse t");
}

TEST(PlanLoops, sums_in_lanes_and_loops_without_a_vector_form_get_no_plan) {
  constexpr std::string_view lanes = R"(  s = alloc(f32, (), 'registers')
  s[()] = f32(0.0)
  for i in vector(0, n, 1, vector_width=64):
    s[()] = (s[()] + x[i]) @ lanes(i)
  z[0] = s[()]
)";
  EXPECT_EQ(planned(lanes), "");
  EXPECT_EQ(planned("  for i in vector(0, n, 1, vector_width=16):\n    y[0] = x[i]\n"), "");
  EXPECT_EQ(planned("  for i in serial(0, n, 1):\n    y[i] = x[i]\n"), "");
}

}  // namespace
}  // namespace kw
