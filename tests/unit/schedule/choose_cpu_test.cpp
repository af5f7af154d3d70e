// Which loops of known kernels run in lanes, and in how many, for two kinds of registers.
#include "schedule/choose_cpu.h"

#include <gtest/gtest.h>

#include "driver/pipeline.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Target avx2() { return {"x86_64-unknown-linux-gnu", {"avx", "avx2", "fma"}}; }
Target avx512() {
  return {"x86_64-unknown-linux-gnu", {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"}};
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
  f = run_schedule(f, target, cpu_steps(), false).func;
  std::vector<std::string> out;
  walk(f.body, [&](const For &n, const Stmt &at) {
    bool blocks = n.kind == ForKind::parallel && n.how.vector_width;  // of a sum, in lanes as well
    if ((n.kind == kind || (kind == ForKind::vector && blocks)) && at.loc().known())
      out.push_back(kind == ForKind::vector ? cat(n.iter->name, "/", n.how.vector_width) : n.iter->name);
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
  EXPECT_EQ(chosen(columns), "j/64 j/32 j/64 j/64");  // zeros, eight rows at once, the rest, the results
}

TEST(ChooseCpu, sums_of_rows_run_in_lanes_and_in_strict_mode_several_rows_do) {
  std::string_view rows =
      "for i in range(v.shape[0]):\n  s = 0.0\n  for j in range(a.shape[1]):\n    s += a[i, j]\n  v[i] = s";
  EXPECT_EQ(chosen(rows), "i/16 j/64");  // the first where a row has fewer than 64 elements
  EXPECT_EQ(chosen(rows, avx512(), FpMode::strict), "i/16");
  EXPECT_EQ(chosen(rows, avx2(), FpMode::strict), "i/8");
}

TEST(ChooseCpu, what_is_turned_over_runs_in_as_many_lanes_as_a_register_has) {
  std::string_view turned =
      "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = b[j, i]";
  EXPECT_EQ(chosen(turned), "i/16");
  EXPECT_EQ(chosen(turned, avx2()), "i/8");
  std::string_view running =
      "for i in range(a.shape[0]):\n  s = 0.0\n  for j in range(a.shape[1]):\n    s = s * 0.5 + b[i, j]\n"
      "    a[i, j] = s";
  EXPECT_EQ(chosen(running), "i/8");
}

TEST(ChooseCpu, what_is_turned_over_is_cut_into_blocks_for_threads) {
  std::string_view turned =
      "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = b[j, i]";
  EXPECT_EQ(chosen(turned, avx512(), FpMode::normal, ForKind::parallel), "i0 j0");
  std::string_view planes =
      "for i in range(100):\n  for j in range(a.shape[1]):\n    a[i, j] = b[j, i]";  // too few rows to cut
  EXPECT_EQ(chosen(planes, avx512(), FpMode::normal, ForKind::parallel), "i0");
}

/// The directives for a kernel over a, b: f32[n, m], v: f32[k], w: i64[l], joined by "; ".
std::string schedule(std::string_view lines) {
  std::string text = "def f(a, b, v, w):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Signature s =
      unit::signature({unit::tensor(2), unit::tensor(2), unit::tensor(1), unit::tensor(1, DType::i64)});
  Func f = run_pipeline(unit::kernel(text + "  return a, v, w\n", s), {}, avx512());
  return join_text(texts_of(run_schedule(f, avx512(), cpu_steps(), true).steps), "; ");
}

TEST(ChooseCpu, what_is_turned_over_is_read_along_the_outer_loop) {
  auto begin = [](std::string_view lines) {
    std::string steps = schedule(lines);
    return steps.substr(0, steps.find("; parallel"));
  };
  EXPECT_EQ(begin("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = b[j, i]"),
            "tile i by 256, j by 16  # read along one loop, written along the other");
  EXPECT_EQ(begin("for i in range(b.shape[0]):\n  for j in range(b.shape[1]):\n    a[j, i] = b[i, j]"),
            "reorder j i  # what is read lies along the outer loop; "
            "tile j by 256, i by 16  # read along one loop, written along the other");
  EXPECT_EQ(begin("for i in serial(b.shape[0]):\n  for j in range(b.shape[1]):\n    a[j, i] = b[i, j]"),
            "parallel j");
}

TEST(ChooseCpu, neighbours_that_share_memory_become_one_loop) {
  std::string_view twice =
      "for i in range(v.shape[0]):\n  v[i] = v[i] + 1.0\n"
      "for j in range(v.shape[0]):\n  v[j] = v[j] * v[j]";
  EXPECT_EQ(schedule(twice),
            "fuse i j  # they share memory; parallel i block 16384; vectorize i by 64; tail i masked");
  std::string_view apart =
      "for i in range(v.shape[0]):\n  v[i] = v[i] + 1.0\n"
      "for j in range(v.shape[0]):\n  w[j] = j";  // no two accesses meet
  EXPECT_EQ(schedule(apart).find("fuse"), std::string::npos);
  std::string_view shifted =
      "for i in range(v.shape[0] - 1):\n  v[i] = v[i] + 1.0\n"
      "for j in range(v.shape[0] - 1):\n  a[0, j] = v[j + 1]";
  EXPECT_EQ(schedule(shifted).find("fuse"), std::string::npos);
}

TEST(ChooseCpu, loops_that_would_lose_their_lanes_stay_apart) {
  std::string_view running =
      "for i in range(1, v.shape[0]):\n  v[i] = v[i] * 0.5\n"
      "for j in range(1, v.shape[0]):\n  v[j] = v[j] + v[j - 1]";
  EXPECT_EQ(schedule(running).find("fuse"), std::string::npos);
}

TEST(ChooseCpu, temporaries_of_fused_loops_become_scalars) {
  std::string_view chain =
      "t = allocate(v.shape, v.dtype)\nfor i in range(v.shape[0]):\n  t[i] = v[i] + 1.0\n"
      "for j in range(v.shape[0]):\n  v[j] = t[j] * t[j]";
  EXPECT_EQ(schedule(chain),
            "fuse i j  # they share memory; contract t at i; parallel i block 16384; vectorize i by 64; tail "
            "i masked");
  std::string_view read_later =
      "t = allocate(v.shape, v.dtype)\nfor i in range(v.shape[0]):\n  t[i] = v[i] + 1.0\n"
      "for j in range(v.shape[0]):\n  v[j] = t[j] * t[j]\nv[0] = t[3]";
  EXPECT_EQ(schedule(read_later).find("contract"), std::string::npos);
}

TEST(ChooseCpu, short_loops_inside_others_are_written_out) {
  auto loops = [](std::string_view inner) {
    return chosen(cat("for i in range(v.shape[0] - 9):\n  s = v[i]\n  for p in ", inner,
                      ":\n    s = s * 0.5 + v[i + p]\n  a[0, i] = s"),
                  avx512(), FpMode::normal, ForKind::serial);
  };
  EXPECT_EQ(loops("range(7)"), "");
  EXPECT_EQ(loops("range(2, 9, 3)"), "");
  EXPECT_EQ(loops("range(8)"), "p");
  EXPECT_EQ(loops("serial(4)"), "p");
  EXPECT_EQ(loops("range(a.shape[0])"), "p");
  EXPECT_EQ(chosen("for i in range(3):\n  v[i] = v[i] * v[i + 3]", avx512(), FpMode::normal, ForKind::serial),
            "i");
}

TEST(ChooseCpu, sums_of_several_loops_run_in_lanes_where_the_loops_do_nothing_else) {
  std::string_view all =
      "s = 0.0\nfor i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    s += a[i, j]\nv[0] = s";
  EXPECT_EQ(chosen(all), "j/64");
  EXPECT_EQ(chosen(all, avx2()), "j/64");
  EXPECT_EQ(chosen("s = 0.0\nfor i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    s += a[i, j]\n"
                   "  v[i] = 1.0\nv[0] = s"),
            "");
}

TEST(ChooseCpu, accumulators_that_have_no_registers_run_in_fewer_lanes) {
  std::string_view three =
      "p = 0.0\nq = 0.0\nr = 0.0\nfor j in range(v.shape[0]):\n  p += v[j]\n  q += v[j] * v[j]\n"
      "  r += abs(v[j])\nv[0] = p + q + r";
  EXPECT_EQ(chosen(three), "j/64");
  EXPECT_EQ(chosen(three, avx2()), "j/16");
  std::string_view exponentials = "s = 0.0\nfor j in range(v.shape[0]):\n  s += exp(v[j])\nv[0] = s";
  EXPECT_EQ(chosen(exponentials, avx2()), "j/8");
}

TEST(ChooseCpu, largest_values_run_in_lanes) {
  EXPECT_EQ(chosen("m = v[0]\nfor i in range(v.shape[0]):\n  m = max(m, v[i])\nv[0] = m"), "i/64");
}

TEST(ChooseCpu, selections_run_in_lanes) {
  std::string_view first =
      "m = v[0]\np = 0\nfor i in range(1, v.shape[0]):\n  if v[i] > m:\n    m = v[i]\n    p = i\n"
      "v[0] = m\nw[0] = p";
  EXPECT_EQ(chosen(first), "i/64");
  EXPECT_EQ(chosen(first, avx2(), FpMode::strict), "i/32");
  EXPECT_EQ(chosen("m = v[0]\nfor i in range(v.shape[0]):\n  if v[i] > m:\n    m = v[i]\n  v[i] = m"), "");
}

TEST(ChooseCpu, whiles_of_independent_iterations_run_in_lanes) {
  std::string_view escape =
      "for i in range(v.shape[0]):\n  x = v[i]\n  k = 0\n  while k < 50 and x < 4.0:\n    x = x * x\n"
      "    k += 1\n  v[i] = k";
  EXPECT_EQ(chosen(escape), "i/32");
  EXPECT_EQ(chosen(escape, avx2()), "i/16");
  EXPECT_EQ(chosen("x = v[0]\nfor i in range(v.shape[0]):\n  while x < v[i]:\n    x = x * x\n  v[i] = x"),
            "");
}

TEST(ChooseCpu, shortest_paths_run_on_threads_and_in_lanes_beside_row_and_column_k) {
  std::string_view floyd =
      "for k in range(a.shape[0]):\n  for i in range(a.shape[0]):\n    for j in range(a.shape[0]):\n"
      "      a[i, j] = min(a[i, j], a[i, k] + a[k, j])";
  EXPECT_EQ(chosen(floyd), "j/64 j/64 j/64 j/64 j/64 j/64");
  EXPECT_EQ(chosen(floyd, avx512(), FpMode::normal, ForKind::parallel), "i j0 j0 i");
}

TEST(ChooseCpu, what_depends_on_the_iteration_before_stays) {
  EXPECT_EQ(chosen("for i in range(1, v.shape[0]):\n  v[i] += v[i - 1]"), "");
  EXPECT_EQ(chosen("for i in range(v.shape[0] - 1):\n  v[i] += v[i + 1]"), "i/64");
}

TEST(ChooseCpu, gathers_beside_rows_run_in_lanes_where_the_machine_has_them) {
  std::string_view gather = "for i in range(w.shape[0]):\n  v[i] = a[0, w[i]]";
  EXPECT_EQ(chosen(gather), "i/8");
  EXPECT_EQ(chosen(gather, avx2()), "");
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
  EXPECT_EQ(on_threads("for i in range(a.shape[0]):\n  for j in range(i):\n    v[i] += a[i, j]"), "i");
  EXPECT_EQ(
      on_threads("for i in range(1, a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] += a[i - 1, j]"),
      "j0");
  EXPECT_EQ(on_threads("for i in range(v.shape[0]):\n  v[i] += 1.0"), "i0");
  EXPECT_EQ(on_threads("for i in serial(v.shape[0]):\n  v[i] += 1.0"), "");
}

TEST(ChooseCpu, threads_share_the_loop_in_one_of_few_iterations) {
  std::string_view both = "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] += 1.0";
  EXPECT_EQ(on_threads(both), "i j0");
  EXPECT_EQ(chosen(both), "j/64");
  EXPECT_EQ(on_threads("for i in range(a.shape[0]):\n  for j in range(16):\n    a[i, j] += 1.0"), "i");
  EXPECT_EQ(on_threads("for i in range(a.shape[0]):\n  for j in range(1, a.shape[1]):\n"
                       "    a[i, j] += a[i, j - 1]"),
            "i");
  EXPECT_EQ(on_threads("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n"
                       "    if v[i] > 0.0:\n      a[i, j] += 1.0"),
            "i j0");
}

TEST(ChooseCpu, ranges_of_every_form_are_cut_into_blocks) {
  for (std::string_view range : {"v.shape[0] - 1, -1, -1", "0, v.shape[0], 2", "v.shape[0] // 2",
                                 "min(a.shape[0], v.shape[0])", "max(0, a.shape[0] - 3), v.shape[0]"})
    EXPECT_EQ(on_threads(cat("for i in range(", range, "):\n  v[i] = exp(v[i])")), "i0") << range;
}

TEST(ChooseCpu, loops_that_share_something_stay_on_one_thread) {
  EXPECT_EQ(on_threads("for i in range(1, v.shape[0]):\n  v[i] += v[i - 1]"), "");
  EXPECT_EQ(on_threads("m = v[0]\nfor i in range(v.shape[0]):\n  m = max(m, v[i])\nv[0] = m"), "");
  EXPECT_EQ(on_threads("for i in range(v.shape[0]):\n  if v[i] < 0.0:\n    continue\n  v[i] = 1.0"), "");
  EXPECT_EQ(on_threads("for i in range(v.shape[0] - 1):\n  v[i] += v[i + 1]"), "");
}

TEST(ChooseCpu, blocks_of_a_sum_run_on_threads) {
  EXPECT_EQ(on_threads("s = 0.0\nfor i in range(v.shape[0]):\n  s += v[i]\nv[0] = s"), "i");
  EXPECT_EQ(
      on_threads("s = 0.0\nfor i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    s += a[i, j]\n"
                 "v[0] = s"),
      "i");
  EXPECT_EQ(on_threads("s = 0.0\nfor i in serial(v.shape[0]):\n  s += v[i]\nv[0] = s"), "");
  EXPECT_EQ(on_threads("s = 0.0\nfor i in range(100):\n  s += v[i]\nv[0] = s"), "");
  EXPECT_EQ(chosen("s = 0.0\nfor i in range(v.shape[0]):\n  s += v[i]\nv[0] = s", avx512(), FpMode::strict,
                   ForKind::parallel),
            "");
}

TEST(ChooseCpu, little_work_stays_on_one_thread) {
  EXPECT_EQ(on_threads("for i in range(1000):\n  v[i] = 1.0"), "");
  EXPECT_EQ(on_threads("for i in range(1000000):\n  v[i] = 1.0"), "i0");
}

TEST(ChooseCpu, serial_is_obeyed) { EXPECT_EQ(chosen("for i in serial(v.shape[0]):\n  v[i] = 1.0"), ""); }

}  // namespace
}  // namespace kw
