// Lines of a schedule are applied in their order, those for short sums to a version of their own.
#include "schedule/replay.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "schedule/choose_cpu.h"
#include "schedule/cpu/short_sums.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

/// Rows of a that are summed, over v.
Func row_sums() {
  return unit::kernel(
      "def f(a, v):\n  for i in range(v.shape[0]):\n    s = 0.0\n    for j in range(a.shape[1]):\n"
      "      s += a[i, j]\n    v[i] = s\n  return v\n",
      unit::signature({unit::tensor(2), unit::tensor(1)}));
}

/// The function after the lines, or what is wrong with them.
std::string after(std::string_view lines) {
  SourceMap sources;
  LoopNest nest(row_sums());
  try {
    auto refused = replay(nest, sources, sources.add_text("<schedule>", 1, std::string(lines)));
    if (refused) return cat("refused: ", refused->verdict.why);
  } catch (const CompileError &e) {
    return e.found()[0].message;
  }
  EXPECT_EQ(verify(nest.func()), "");
  return print(nest.func());
}

TEST(Replay, lines_for_short_sums_make_a_version) {
  std::string text = after("parallel i\nshort_sums: vectorize i by 8\n");
  size_t version = text.find("for i in vector(0, v_0, 1, vector_width=8):");
  size_t main = text.find("for i_1 in parallel(0, v_0, 1):");
  EXPECT_NE(version, std::string::npos) << text;
  EXPECT_NE(main, std::string::npos) << text;
  EXPECT_LT(text.find("if "), version);
  EXPECT_LT(version, main);
}

TEST(Replay, later_lines_are_for_both_versions) {
  std::string text = after("short_sums: vectorize i by 8\nparallel i#2\n");
  EXPECT_NE(text.find("for i_1 in parallel(0, v_0, 1):"), std::string::npos) << text;
}

TEST(Replay, a_kernel_has_one_version_at_most) {
  EXPECT_EQ(after("short_sums: vectorize i by 8\nparallel i#2\nshort_sums: parallel i\n"),
            "the kernel has its version for short sums already");
  SourceMap sources;
  LoopNest nest(
      unit::ir("def f(w: inout(i64, (n,))):\n  fp('strict')\n  dims(n)\n  for i in serial(0, n, 1):\n"
               "    w[i] = i\n  return w\n"));
  EXPECT_THROW(replay(nest, sources, sources.add_text("<schedule>", 1, "short_sums: parallel i")),
               CompileError);
}

TEST(Replay, loops_of_a_large_kernel_are_scheduled_one_by_one) {
  std::string text = "def f(a, v):\n";
  std::string sum = "v[i]";
  for (int k = 0; k < 50; ++k) sum += cat(" + a[", k, ", i]");
  for (int i = 0; i < 42; ++i) text += cat("  for i in range(v.shape[0]):\n    v[i] = ", sum, "\n");
  Func f = unit::kernel(text + "  return v\n", unit::signature({unit::tensor(2), unit::tensor(1)}));
  Schedule chosen = run_schedule(f, unit::avx512_machine(), cpu_steps(), true);
  ASSERT_GE(chosen.steps.size(), 84u);
  EXPECT_EQ(chosen.steps[0].text(), "loop 0: parallel i block 16384");
  EXPECT_EQ(chosen.steps[1].text(), "loop 0: vectorize i by 16");
  EXPECT_EQ(chosen.rejections[0].why, "the kernel has too many accesses");
  EXPECT_EQ(chosen.rejections[1].why,
            "the kernel is too large: each loop is parallelized and vectorized alone");
  EXPECT_EQ(unit::replay_error(f, texts_of(chosen.steps), chosen.func), "");
  EXPECT_EQ(print(run_schedule(f, unit::avx512_machine(), cpu_steps(), false).func), print(chosen.func));
  EXPECT_EQ(after("loop 1: parallel i"), "the nest has no loop 1");
}

TEST(Replay, a_line_that_is_not_legal_is_named) {
  EXPECT_EQ(after("vectorize i by 3"), "refused: the width is no power of two from 2 to 64");
  Func f = row_sums();
  EXPECT_EQ(unit::replay_error(f, {"parallel i", "parallel i"}, f), "`parallel i` is not legal");
  EXPECT_EQ(unit::replay_error(f, {"parallel k"}, f), "no loop of this nest is named `k`");
  EXPECT_EQ(unit::replay_error(f, {"parallel i"}, f), "the directives make other loops than those that run");
  EXPECT_EQ(unit::replay_error(f, {}, f), "");
}

}  // namespace
}  // namespace kw
