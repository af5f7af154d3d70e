// Which loops of known kernels run in lanes, and in how many, for two kinds of registers.
#include "schedule/choose_cpu.h"

#include <gtest/gtest.h>

#include "driver/pipeline.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Target avx2() { return {"x86_64-unknown-linux-gnu", {"avx", "avx2", "fma"}, 32 << 10, 512 << 10}; }
Target avx512() {
  return {"x86_64-unknown-linux-gnu",
          {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"},
          48 << 10,
          2 << 20};
}

/// "j/64": the loops in lanes of a kernel over a, b: f32[n, m], v: f32[k], w: i64[l].
std::string chosen(std::string_view lines, const Target &target = avx512(), FpMode fp = FpMode::normal,
                   ForKind kind = ForKind::vector) {
  std::string text = "def f(a, b, v, w):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Signature s =
      unit::signature({unit::tensor(2), unit::tensor(2), unit::tensor(1), unit::tensor(1, DType::i64)});
  CodegenOptions options;
  options.fp = fp;
  Func f = run_pipeline(unit::kernel(text + "  return a, v, w\n", s, options), options, target);
  std::vector<std::string> out;
  walk(f.body, [&](const For &n, const Stmt &at) {
    if (n.kind == kind && at.loc().known())
      out.push_back(kind == ForKind::vector ? cat(n.iter->name, "/", n.width) : n.iter->name);
  });
  return join_text(out, " ");
}

TEST(ChooseCpu, streams_run_in_several_registers) {
  std::string_view add = "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] += 1.0";
  EXPECT_EQ(chosen(add), "j/64");
  EXPECT_EQ(chosen(add, avx2()), "j/32");
  EXPECT_EQ(chosen("for i in range(v.shape[0]):\n  v[i] = exp(v[i])"), "i/16");
  EXPECT_EQ(chosen("for i in range(w.shape[0]):\n  w[i] += 2"), "i/32");
}

TEST(ChooseCpu, a_loop_outside_runs_in_lanes_where_the_inner_one_keeps_its_order) {
  std::string_view in_place =
      "for i in range(a.shape[0]):\n  for j in range(b.shape[1]):\n    s = 0.0\n    for k in "
      "range(a.shape[1]):\n"
      "      s += a[i, k] * b[k, j]\n    a[i, j] = s";
  EXPECT_EQ(chosen(in_place), "");  // row i of a is read after it is written
  std::string_view columns =
      "for j in range(v.shape[0]):\n  s = 0.0\n  for i in range(a.shape[0]):\n    s += a[i, j]\n  v[j] = s";
  EXPECT_EQ(chosen(columns), "j/64");
}

TEST(ChooseCpu, sums_of_rows_run_in_lanes_but_in_strict_mode) {
  std::string_view rows =
      "for i in range(v.shape[0]):\n  s = 0.0\n  for j in range(a.shape[1]):\n    s += a[i, j]\n  v[i] = s";
  EXPECT_EQ(chosen(rows), "j/64");
  EXPECT_EQ(chosen(rows, avx512(), FpMode::strict), "");
}

TEST(ChooseCpu, largest_values_run_in_lanes) {
  EXPECT_EQ(chosen("m = v[0]\nfor i in range(v.shape[0]):\n  m = max(m, v[i])\nv[0] = m"), "i/64");
}

TEST(ChooseCpu, what_depends_on_the_iteration_before_stays) {
  EXPECT_EQ(chosen("for i in range(1, v.shape[0]):\n  v[i] += v[i - 1]"), "");
  EXPECT_EQ(chosen("for i in range(v.shape[0] - 1):\n  v[i] += v[i + 1]"), "i/64");
}

TEST(ChooseCpu, places_apart_and_short_loops_gain_nothing) {
  EXPECT_EQ(chosen("for i in range(v.shape[0]):\n  v[i] = a[i, 0]"), "");
  EXPECT_EQ(chosen("for i in range(3):\n  v[i] = 1.0"), "");
  EXPECT_EQ(chosen("for i in range(8):\n  v[i] = 1.0"), "i/16");
}

/// The loops on threads of the same kernels.
std::string on_threads(std::string_view lines) {
  return chosen(lines, avx512(), FpMode::normal, ForKind::parallel);
}

TEST(ChooseCpu, the_outermost_independent_loop_runs_on_threads) {
  EXPECT_EQ(on_threads("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] += 1.0"),
            "i");
  EXPECT_EQ(
      on_threads("for i in range(1, a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] += a[i - 1, j]"),
      "j_first");
  EXPECT_EQ(on_threads("for i in range(v.shape[0]):\n  v[i] += 1.0"), "i_first");
  EXPECT_EQ(on_threads("for i in serial(v.shape[0]):\n  v[i] += 1.0"), "");
}

TEST(ChooseCpu, loops_that_share_something_stay_on_one_thread) {
  EXPECT_EQ(on_threads("for i in range(1, v.shape[0]):\n  v[i] += v[i - 1]"), "");
  EXPECT_EQ(on_threads("m = v[0]\nfor i in range(v.shape[0]):\n  m = max(m, v[i])\nv[0] = m"), "");
  EXPECT_EQ(on_threads("for i in range(v.shape[0]):\n  if v[i] < 0.0:\n    continue\n  v[i] = 1.0"), "");
  EXPECT_EQ(on_threads("for i in range(v.shape[0] - 1):\n  v[i] += v[i + 1]"), "");
}

TEST(ChooseCpu, little_work_stays_on_one_thread) {
  EXPECT_EQ(on_threads("for i in range(1000):\n  v[i] = 1.0"), "");
  EXPECT_EQ(on_threads("for i in range(1000000):\n  v[i] = 1.0"), "i_first");
}

TEST(ChooseCpu, serial_is_obeyed) { EXPECT_EQ(chosen("for i in serial(v.shape[0]):\n  v[i] = 1.0"), ""); }

}  // namespace
}  // namespace kw
