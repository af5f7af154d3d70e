// Which loops of known kernels are launched, and in blocks of how many threads.
#include <gtest/gtest.h>

#include "driver/pipeline.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "schedule/choose_gpu.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func scheduled(std::string_view lines) {
  std::string text = "def f(a, b, v, w):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Signature s =
      unit::signature({unit::tensor(2), unit::tensor(2), unit::tensor(1), unit::tensor(1, DType::i64)});
  Target target = *target_of_class("sm_90");
  Func f = run_pipeline(unit::kernel(text + "  return a, v, w\n", s, {}), {}, target);
  Schedule out = run_schedule(f, target, gpu_steps(), true);
  EXPECT_TRUE(out.func.warnings.empty());
  return out.func;
}

/// "j/128": the launched loops of a kernel over a, b: f32[n, m], v: f32[k], w: i64[l], and their threads;
/// "j/128x4": of four iterations side by side each, "j/128u4": of four apart, "j/128x4u2": of two such fours.
/// "j/128(w)": with atomic operations on w; "team j": the loops that teams share.
std::string launched(std::string_view lines) {
  std::vector<std::string> out;
  walk(scheduled(lines).body, [&](const For &n, const Stmt &) {
    std::string atomics;
    for (const Buf &b : n.atomics) atomics += cat("(", b->sym->name, ")");
    if (n.kind == ForKind::block) out.push_back(cat("team ", n.iter->name, atomics));
    if (n.kind != ForKind::grid) return;
    std::string of_thread = n.how.vector_width ? cat("x", n.how.vector_width) : "";
    of_thread += n.how.unroll ? cat("u", n.how.unroll) : "";
    uint32_t iterations = std::max(1u, n.how.vector_width) * std::max(1u, n.how.unroll);
    out.push_back(cat(n.iter->name, "/", n.how.per_block / iterations, of_thread, atomics));
  });
  return join_text(out, " ");
}

TEST(MapGrids, a_nest_is_one_launch) {
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  v[i] += 1.0"), "i/256x4u4");
  EXPECT_EQ(launched("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = b[i, j]"),
            "j/256x4u4 i/1 j/128x4");
  // unit stride comes innermost
  EXPECT_EQ(launched("for j in range(a.shape[1]):\n  for i in range(a.shape[0]):\n    a[i, j] += 1.0"),
            "j/256x4u4");
}

TEST(MapGrids, blocks_are_smaller_where_threads_go_on_for_different_times) {
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  x = v[i]\n  while x > 1:\n    x = x * 0.5\n  v[i] = x"),
            "i/128");
}

TEST(MapGrids, threads_go_down_columns_side_by_side) {
  // of which a team copies tiles ahead of them
  EXPECT_EQ(
      launched("for j in range(v.shape[0]):\n  s = 0.0\n  for i in range(a.shape[0]):\n    s += a[i, j]\n"
               "  v[j] = s"),
      "j0/1 team t team k team t team t j0/1 team t team k team t team t");
  EXPECT_EQ(launched("for j in range(v.shape[0] // 2):\n  s = 0.0\n  for i in range(a.shape[0]):\n"
                     "    s += a[i, 2 * j]\n  v[j] = s"),
            "j/32");
}

TEST(MapGrids, a_thread_waits_for_several_loads_of_a_sum_at_once) {
  auto unrolled = [](std::string_view lines) {
    int count = 0;
    walk(scheduled(lines).body, [&](const For &n, const Stmt &) { count += n.kind == ForKind::unroll; });
    return count;
  };
  EXPECT_EQ(unrolled("for j in range(a.shape[1] // 2):\n  s = 0.0\n  for i in range(a.shape[0]):\n"
                     "    s += a[i, 2 * j]\n  v[j] = s"),
            1);
  // a store, a short loop, and one that loads the same in each iteration
  EXPECT_EQ(unrolled("for j in range(a.shape[1] // 2):\n  for i in range(1, a.shape[0]):\n"
                     "    a[i, 2 * j] += a[i - 1, 2 * j]"),
            0);
  EXPECT_EQ(unrolled("for j in range(a.shape[1]):\n  s = v[j]\n  for i in range(v.shape[0]):\n"
                     "    s = s * 0.5 + v[0]\n  a[0, j] = s"),
            0);
}

TEST(MapGrids, few_and_long_rows_have_a_block_each) {
  auto rows = [](std::string_view count, std::string_view length) {
    return launched(cat("for i in range(", count, "):\n  s = 0.0\n  for j in range(", length,
                        "):\n    s += a[i, j]\n  v[i] = s"));
  };
  // in calls with rows below 64 a thread has a row
  std::string staged = "i0/2 team t team k team t team t ";
  EXPECT_EQ(rows("v.shape[0]", "a.shape[1]"), staged + "i/1 team j i/8 team j");
  EXPECT_EQ(rows("2047", "a.shape[1]"), staged + "i/1 team j");
  EXPECT_EQ(rows("2048", "a.shape[1]"), staged + "i/1 team j i/8 team j");
  EXPECT_EQ(rows("2048", "500"), "i/8 team j");
  EXPECT_EQ(rows("v.shape[0]", "1024"), "i/1 team j");
  EXPECT_EQ(rows("v.shape[0]", "256"), "i/8 team j");
  EXPECT_EQ(rows("v.shape[0]", "257"), "i/1 team j i/8 team j");
}

TEST(MapGrids, a_team_shares_what_lies_in_a_row) {
  EXPECT_EQ(
      launched("for i in range(v.shape[0]):\n  s = 0.0\n  for j in range(a.shape[1]):\n    s += a[i, j]\n"
               "  v[i] = s"),
      "i0/2 team t team k team t team t i/1 team j i/8 team j");
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  for j in range(a.shape[1]):\n    v[i] += a[i, j]"),
            "i0/2 team t team k team t i/1 team j i/8 team j");
  // a short row stays with one thread
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  for j in range(16):\n    v[i] += a[i, j]"), "i/256");
  // elements that iterations share, other ones than their own: each thread has a row, of which a team copies
  EXPECT_EQ(launched("for i in range(a.shape[0]):\n  for j in range(1, a.shape[1]):\n"
                     "    a[i, j] += a[i, j - 1]"),
            "i0/2 team t team k team t team k");
  EXPECT_EQ(
      launched(
          "for i in range(a.shape[0]):\n  for j in range(a.shape[1] // 2):\n    a[i, j // 2] += b[i, j]"),
      "i0/2 team k team t");
}

TEST(MapGrids, loops_that_stay_serial_run_on_the_host) {
  EXPECT_EQ(launched("for k in range(a.shape[0]):\n  for i in range(a.shape[0]):\n"
                     "    for j in range(a.shape[0]):\n      a[i, j] = min(a[i, j], a[i, k] + a[k, j])"),
            "");  // row and column k are read and written
  EXPECT_EQ(launched("for t in range(w.shape[0]):\n  for j in range(v.shape[0]):\n    v[j] = v[j] * 2.0 + t"),
            "j/32");
  EXPECT_EQ(launched("for t in range(w.shape[0]):\n  for j in range(8):\n    v[j] = v[j] * 2.0 + t"), "j/32");
}

TEST(MapGrids, one_team_executes_what_is_not_launched) {
  EXPECT_EQ(launched("s = 0.0\nfor i in range(4000):\n  s += v[i]\nv[0] = s"), "team i");
  // in its order, between copies
  EXPECT_EQ(launched("for i in range(1, v.shape[0]):\n  v[i] += v[i - 1]"), "team k team k");
  EXPECT_EQ(launched("for i in range(1, 257):\n  v[i] += v[i - 1]"), "");
}

TEST(MapGrids, accumulations_whose_order_is_free_become_atomic_operations) {
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  w[int64(v[i])] += 1"),
            "b/1(w) team s team k(w_own) team s i/256(w)");
  EXPECT_EQ(
      launched("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    w[int64(a[i, j])] += 1"),
      "b/1(w) team s team k(w_own) team s j/256(w) i/1(w) j/128(w)");
  // one block needs no copy
  EXPECT_EQ(launched("for i in range(4096):\n  w[int64(v[i])] += 1"), "i/256(w)");
  // the order of a sum of floats is fixed
  EXPECT_EQ(launched("for i in range(w.shape[0]):\n  v[w[i]] += 1.0"), "");
  // what the loop accumulates it also reads
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  w[int64(v[i])] += 1\n  v[i] = float32(w[0])"), "");
}

TEST(MapGrids, a_reduction_of_everything_runs_in_parts) {
  constexpr std::string_view parts = "b/1 team k team g";
  EXPECT_EQ(launched("s = 0.0\nfor i in range(v.shape[0]):\n  s += v[i]\nv[0] = s"), parts);
  EXPECT_EQ(launched("s = 0\nfor i in range(w.shape[0]):\n  s += w[i]\nw[0] = s"), parts);
  EXPECT_EQ(launched("s = v[0]\nfor i in range(1, v.shape[0]):\n  s = max(s, v[i])\nv[0] = s"), parts);
  EXPECT_EQ(launched("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    v[0] += a[i, j]"),
            parts);
}

TEST(MapGrids, a_thread_that_sums_alone_needs_no_atomic_operations) {
  EXPECT_EQ(
      launched("for i in range(w.shape[0]):\n  for j in range(a.shape[1]):\n    w[i] += int64(a[i, j])"),
      "i0/2 team t team k team t i/1 team j i/8 team j");
  EXPECT_EQ(
      launched("for i in range(a.shape[0]):\n  for j in range(w.shape[0]):\n    w[j] += int64(a[i, j])"),
      "j0/1 team t team k team t j0/1 team t team k team t");
}

TEST(MapGrids, tiles_are_copied_where_threads_would_read_or_store_with_strides) {
  // those of vectors for calls in which all are whole, and those of elements
  constexpr std::string_view tiles = "i0/1 j0/1 team k team k i0/1 j0/1 team k team k";
  EXPECT_EQ(launched("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = b[j, i]"),
            tiles);
  EXPECT_EQ(launched("for j in range(a.shape[1]):\n  for i in range(a.shape[0]):\n    a[i, j] = b[j, i]"),
            tiles);
  EXPECT_EQ(
      launched("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = a[i, j] + b[j, i]"),
      tiles);
  // what is also written, read elsewhere or under a condition is not copied
  EXPECT_EQ(
      launched("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = b[j, i] + b[i, j]"),
      "j/256u4 i/1 j/128u4");
  EXPECT_EQ(launched("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n"
                     "    a[i, j] = b[j, i] if j > 3 else 0.0"),
            "j/256u4 i/1 j/128u4");
  EXPECT_EQ(launched("for i in range(3):\n  for j in range(a.shape[1]):\n    a[i, j] = b[j, i]"), "j/256u4");
}

TEST(MapGrids, tiles_of_a_large_kernel_are_launched_alone) {
  std::string lines, sum = "v[i]";
  for (int k = 0; k < 50; ++k) sum += cat(" + a[", k, ", i]");
  for (int n = 0; n < 42; ++n) lines += cat("for i in range(v.shape[0]):\n  v[i] = ", sum, "\n");
  for (int n = 0; n < 2; ++n)
    lines += "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = b[j, i]\n";
  Func f = scheduled(lines.substr(0, lines.size() - 1));
  EXPECT_EQ(verify(f), "");
  EXPECT_TRUE(f.misaligned);
}

TEST(MapGrids, loops_are_one_where_arrays_are_one_row_or_rows_are_short) {
  auto lines = [](std::string_view loops, std::string_view statement) {
    return launched(cat("for i in range(a.shape[0]):\n  for j in range(", loops, "):\n    ", statement));
  };
  // all are one row
  EXPECT_EQ(lines("a.shape[1]", "a[i, j] = a[i, j] * v[0]"), "j/256x4u4");
  EXPECT_EQ(lines("a.shape[1]", "a[i, j] = a[i, j] + i"), "j/256u4 i/1 j/128x4");
  EXPECT_EQ(lines("a.shape[1]", "a[i, j] = a[i, j] + v[j]"), "j/256u4 i/1 j/128x4");
  EXPECT_EQ(lines("1, a.shape[1]", "a[i, j] = 1.0"), "j/256u4 i/1 j/128u4");
  // a bound that is no length of a row makes a condition
  EXPECT_EQ(lines("a.shape[1] - 1", "a[i, j] = 1.0"), "j/256x4u4 i/1 j/128x4");
  EXPECT_EQ(lines("100", "a[i, j] = v[j]"), "j/256u4");
  EXPECT_EQ(lines("500", "a[i, j] = v[j]"), "i/1 j/128x4");
  EXPECT_EQ(lines("i + 1", "a[i, j] = v[j]"), "i/1 team j i/8 team j");
}

TEST(MapGrids, rows_that_share_what_they_read_are_of_one_thread) {
  auto over = [](std::string_view value) {
    return launched(cat(
        "for i in range(1, a.shape[0] - 1):\n  for j in range(1, a.shape[1] - 1):\n    a[i, j] = ", value));
  };
  EXPECT_EQ(over("b[i - 1, j] + b[i + 1, j]"), "j/256 i0/1 j/128");
  EXPECT_EQ(over("b[i - 1, j - 1] + b[i, j + 1]"), "j/256 i0/1 j/128");
  EXPECT_EQ(over("b[i, j - 1] + b[i, j + 1]"), "j/256u4 i/1 j/128u4");
  // few rows
  EXPECT_EQ(
      launched("for i in range(4):\n  for j in range(a.shape[1]):\n    a[i, j] = b[i, j] + b[i + 1, j + 1]"),
      "j/256u4");
}

TEST(MapGrids, threads_have_vectors_if_all_they_move_through_lies_in_them) {
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  v[i] = a[0, i] + a[1, i] + a[2, 0]"), "i/256x4u4");
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  v[i] = a[0, i] + a[1, i + 1]"), "i/256u4");
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  v[i] = a[0, 2 * i]"), "i/256u4");
  EXPECT_EQ(launched("for i in range(v.shape[0]):\n  v[i] = a[0, i] if a[1, 0] > 0 else a[1, i]"), "i/256u4");
  EXPECT_EQ(launched("for i in range(200):\n  v[i] = a[0, 2 * i]"), "i/256");
}

TEST(MapGrids, checks_stay_in_the_threads) {
  EXPECT_EQ(launched("for i in range(w.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = b[w[i], j]"),
            "j/256 i/1 j/128");
}

TEST(MapGrids, a_hint_keeps_a_loop_serial) {
  EXPECT_EQ(launched("for i in serial(v.shape[0]):\n  v[i] += 1.0"), "");
}

TEST(MapGrids, loops_of_the_device_are_launched_from_loops_of_the_host_alone) {
  EXPECT_EQ(launched("for i in range(w[0]):\n  for j in range(v.shape[0]):\n    v[j] = v[j] * 2.0 + i"),
            "team j");
}

}  // namespace
}  // namespace kw
