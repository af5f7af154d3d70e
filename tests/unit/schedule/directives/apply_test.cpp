// What each directive makes of a loop, as text, and that blocks are right at the ends of 64 bits.
#include "schedule/directives/apply.h"

#include <gtest/gtest.h>

#include "codegen/interp/interp.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "schedule/directives/loop_nest.h"
#include "schedule/replay.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The body of a function over w: i64[n, m], v: i64[n] and an int p after a schedule, or what was refused.
std::string after(std::string_view body, std::string_view schedule) {
  Func f = unit::ir(
      cat("def f(w: inout(i64, (n, m)), v: buf(i64, (n,)), p: weak(i64)):\n  fp('strict')\n  dims(n, m)\n",
          body, "  return w\n"));
  LoopNest nest(f);
  SourceMap sources;
  uint32_t text = sources.add_text("<schedule>", 1, std::string(schedule));
  if (auto refused = replay(nest, sources, text)) return cat("refused: ", refused->verdict.why);
  EXPECT_EQ(verify(nest.func()), "");
  std::string out = print(nest.func());
  size_t begin = out.find("  dims(n, m)\n") + 13, end = out.find("  return w\n");
  return "\n" + out.substr(begin, end - begin);
}

TEST(ApplyDirective, a_check_with_constants_keeps_what_a_fault_tells) {
  EXPECT_EQ(after("  site('E303', w, 0)\n  for i in serial(0, 2, 1):\n    check((2 * i) - 1 < 1, site=0)\n",
                  "unroll i"),
            R"(
  site('E303', w, 0)
  check((-1) < 1, site=0)
  check(1 < 1, site=0)
)");
}

TEST(ApplyDirective, specialize_copies_a_loop_for_few_iterations) {
  EXPECT_EQ(after("  for i in serial(0, n, 1):\n    w[i, 0] = i\n", "specialize i below 8\nunroll i by 2"),
            R"(
  if n < 8:
    for i in unroll(0, n, 1, unroll=2):
      w[i, 0] = i
  else:
    for i_1 in serial(0, n, 1):
      w[i_1, 0] = i_1
)");
  EXPECT_EQ(after("  for i in serial(0, n, 1):\n    w[i, 0] = i\n", "specialize i below 0"),
            "refused: the size is too small or too large");
  EXPECT_EQ(after("  for i in serial(0, n, 1):\n    for j in serial(1, n, 1):\n      w[i, j] = i\n",
                  "specialize i or j from 9"),
            R"(
  if 9 <= ((n - 1) if (1 < n) else 0):
    for i in serial(0, n, 1):
      for j in serial(1, n, 1):
        w[i, j] = i
  else:
    for i_1 in serial(0, n, 1):
      for j_1 in serial(1, n, 1):
        w[i_1, j_1] = i_1
)");
  EXPECT_EQ(after("  for i in serial(0, v[0], 1):\n    w[i, 0] = i\n", "specialize i below 8"),
            "refused: its bounds are no sums of sizes");
}

TEST(ApplyDirective, split_leaves_a_loop_for_the_rest) {
  EXPECT_EQ(after("  for i in serial(0, n, 1):\n    w[i, 0] = i\n", "split i by 4"), R"(
  for i0 in serial(0, n // 4, 1):
    for i1 in serial(0, 4, 1):
      w[(i0 * 4) + i1, 0] = (i0 * 4) + i1
  for i in serial((n // 4) * 4, n, 1):
    w[i, 0] = i
)");
  EXPECT_EQ(after("  for i in serial(9, 1, -2):\n    w[i, 0] = i\n", "split i by 2"), R"(
  for i0 in serial(0, 2, 1):
    for i1 in serial(0, 2, 1):
      w[9 + (((i0 * 2) + i1) * (-2)), 0] = 9 + (((i0 * 2) + i1) * (-2))
)");
}

TEST(ApplyDirective, split_counts_no_iterations_of_a_range_that_may_be_inverted) {
  EXPECT_EQ(after("  for i in serial(2, n - 3, 3):\n    w[i, 0] = i\n", "split i by 4"), R"(
  for i0 in serial(0, ((max((n - 3) - 2, 0)) + 2) // 12, 1):
    for i1 in serial(0, 4, 1):
      w[2 + (((i0 * 4) + i1) * 3), 0] = 2 + (((i0 * 4) + i1) * 3)
  for i in serial(2 + (((((max((n - 3) - 2, 0)) + 2) // 12) * 4) * 3), n - 3, 3):
    w[i, 0] = i
)");
}

TEST(ApplyDirective, a_bound_from_memory_is_read_once) {
  std::string text = after("  for i in serial(0, v[0], 1):\n    w[i, 0] = i\n", "split i by 4");
  EXPECT_EQ(text.find("\n  bound: i64 = v[0]\n  for i0 in serial("), 0u) << text;
  EXPECT_EQ(text.find("v[0]", 30), std::string::npos) << text;
}

TEST(ApplyDirective, reorder_takes_bounds_along) {
  EXPECT_EQ(after("  for i in serial(0, n, 1):\n    for j in serial(i + 1, m, 1):\n      w[i, j] = j\n",
                  "reorder j i"),
            R"(
  for j in serial(1, m, 1):
    for i in serial(0, min(n, (j - 1) + 1), 1):
      w[i, j] = j
)");
  EXPECT_EQ(after("  for i in serial(0, n, 2):\n    for j in serial(m, 0, -1):\n      w[i, j] = j\n",
                  "reorder j i"),
            R"(
  for j in serial(m, 0, -1):
    for i in serial(0, n, 2):
      w[i, j] = j
)");
}

/// How often each (i, j) is visited, from (-8, -8) on, by loops over 0 <= i < n and a range of j.
std::vector<int64_t> visits(const std::string &range, std::string_view schedule, int64_t n) {
  Func f = unit::ir(cat("def f(w: inout(i64, (n, m)), p: weak(i64)):\n  fp('strict')\n  dims(n, m)\n",
                        "  for i in serial(0, n, 1):\n    for j in serial(", range,
                        ", 1):\n      w[0, i * 24 + j + 200] = w[0, i * 24 + j + 200] + 1\n  return w\n"));
  LoopNest nest(f);
  SourceMap sources;
  EXPECT_FALSE(replay(nest, sources, sources.add_text("<schedule>", 1, std::string(schedule)))) << range;
  int64_t dims[] = {n, 600};
  std::vector<int64_t> w(600);
  void *data[] = {w.data()};
  uint64_t scalar = 0;
  EXPECT_EQ(interpret(nest.func(), {data, dims, &scalar}).status, 0);
  return w;
}

TEST(ApplyDirective, reorder_of_triangles_visits_the_same_iterations) {
  for (std::string low : {"0", "i", "i - 2", "n - i", "2 - i", "max(1, 4 - i)", "max(i - 3, 3 - i)"})
    for (std::string high : {"n", "i", "i + 3", "n - i", "5 - i", "min(n, i + 1)", "min(i + 2, 6 - i)"})
      for (int64_t n : {1, 4, 6}) {
        std::string range = cat(low, ", ", high);
        EXPECT_EQ(visits(range, "reorder j i", n), visits(range, "", n)) << range << " with n = " << n;
      }
}

TEST(ApplyDirective, tile_cuts_the_last_blocks_short) {
  EXPECT_EQ(after("  for i in serial(0, n, 1):\n    for j in serial(3, m, 1):\n      w[i, j] = j\n",
                  "tile i by 2, j by 4"),
            R"(
  for i0 in serial(0, n, 2):
    for j0 in serial(3, m, 4):
      for i in serial(i0, min(n, i0 + 2), 1):
        for j in serial(j0, min(m, j0 + 4), 1):
          w[i, j] = j
)");
}

TEST(ApplyDirective, contract_makes_scalars_of_elements) {
  EXPECT_EQ(after("  t = alloc(i64, (n,), 'heap')\n  for i in serial(0, n, 1):\n    t[i] = i + 1\n"
                  "    if t[i] < m:\n      w[i, 0] = t[i] * t[i]\n",
                  "contract t at i"),
            R"(
  for i in serial(0, n, 1):
    t = alloc(i64, (), 'registers')
    t[()] = i + 1
    if t[()] < m:
      w[i, 0] = t[()] * t[()]
)");
}

TEST(ApplyDirective, unroll_writes_the_body_out) {
  EXPECT_EQ(after("  for i in serial(0, 3, 1):\n    u: i64 = w[i, 0]\n    w[i, 1] = u\n", "unroll i"), R"(
  u: i64 = w[0, 0]
  w[0, 1] = u
  u_1: i64 = w[1, 0]
  w[1, 1] = u_1
  u_2: i64 = w[2, 0]
  w[2, 1] = u_2
)");
}

TEST(ApplyDirective, unroll_and_jam_reads_once_what_its_copies_share) {
  EXPECT_EQ(
      after("  for i in serial(0, 3, 1):\n    for j in serial(0, m, 1):\n      w[0, j] = w[0, j] * p + i\n",
            "unroll_and_jam i by 3"),
      R"(
  for i0 in serial(0, 1, 1, jam=3):
    for j in serial(0, m, 1):
      w_1: i64 = w[0, j]
      w_2: i64 = (w_1 * p) + (i0 * 3)
      w_3: i64 = (w_2 * p) + ((i0 * 3) + 1)
      w_4: i64 = (w_3 * p) + ((i0 * 3) + 2)
      w[0, j] = w_4
)");
}

TEST(ApplyDirective, unroll_and_jam_keeps_a_sum_in_any_order_in_locals) {
  EXPECT_EQ(after("  for i in serial(0, 2, 1):\n    for j in serial(0, m, 1):\n"
                  "      w[0, j] = (w[0, j] + v[i]) @ any(i)\n",
                  "unroll_and_jam i by 2"),
            R"(
  for i0 in serial(0, 1, 1, jam=2):
    for j in serial(0, m, 1):
      w_1: i64 = w[0, j]
      w_2: i64 = w_1 + v[i0 * 2]
      w_3: i64 = w_2 + v[(i0 * 2) + 1]
      w[0, j] = w_3
)");
}

TEST(ApplyDirective, unroll_and_jam_keeps_the_mark_of_a_sum_of_shared_terms) {
  EXPECT_EQ(after("  for i in serial(0, 2, 1):\n    for j in serial(0, m, 1):\n"
                  "      w[i, 0] = (w[i, 0] + v[j]) @ any(j)\n",
                  "unroll_and_jam i by 2"),
            R"(
  for i0 in serial(0, 1, 1, jam=2):
    for j in serial(0, m, 1):
      v_1: i64 = v[j]
      w[i0 * 2, 0] = (w[i0 * 2, 0] + v_1) @ any(j)
      w[(i0 * 2) + 1, 0] = (w[(i0 * 2) + 1, 0] + v_1) @ any(j)
)");
}

TEST(ApplyDirective, unroll_and_jam_reads_again_what_a_copy_may_have_written) {
  std::string text = after(
      "  for i in serial(0, 4, 1):\n    for j in serial(0, m, 1):\n"
      "      w[i, j] = w[p, j] + w[0, j]\n",
      "unroll_and_jam i by 4");  // row p may be any of the four
  size_t reads = 0;
  for (size_t at = text.find("= w[p, j]"); at != std::string::npos; at = text.find("= w[p, j]", at + 1))
    ++reads;
  EXPECT_EQ(reads, 4u) << text;
}

TEST(ApplyDirective, block_runs_stretches) {
  EXPECT_EQ(after("  for i in serial(2, n, 1):\n    w[i, 0] = i\n", "tile i by 4"), R"(
  for i0 in serial(2, n, 4):
    for i in serial(i0, min(n, i0 + 4), 1):
      w[i, 0] = i
)");
  EXPECT_EQ(after("  for i in serial(0, n, 2):\n    w[i, 0] = i\n", "tile i by 4"),
            "refused: its step is not 1");
}

TEST(ApplyDirective, expand_gives_each_iteration_an_element) {
  std::string_view loop =
      "  for i in serial(3, n, 1):\n    s = alloc(i64, (), 'registers')\n    s[()] = i\n    w[i, 0] = "
      "s[()]\n";
  EXPECT_EQ(after(loop, "tile i by 4\nexpand s at i"), R"(
  for i0 in serial(3, n, 4):
    s = alloc(i64, (4,), 'stack')
    for i in serial(i0, min(n, i0 + 4), 1):
      s[i - i0] = i
      w[i, 0] = s[i - i0]
)");
  EXPECT_EQ(after(loop, "expand s at i"), "refused: it is not known to have few iterations");
}

TEST(ApplyDirective, unroll_and_jam_merges_the_loops_inside) {
  EXPECT_EQ(after("  for i in serial(0, 4, 1):\n    w[i, 0] = 0\n    for j in serial(1, m, 1):\n"
                  "      w[i, j] = j\n",
                  "unroll_and_jam i by 2"),
            R"(
  for i0 in serial(0, 2, 1, jam=2):
    w[i0 * 2, 0] = 0
    w[(i0 * 2) + 1, 0] = 0
    for j in serial(1, m, 1):
      w[i0 * 2, j] = j
      w[(i0 * 2) + 1, j] = j
)");
}

TEST(ApplyDirective, fuse_and_distribute_undo_each_other) {
  std::string_view one = "  for i in serial(0, n, 1):\n    w[i, 0] = i\n    w[i, 1] = 2 * i\n";
  std::string two = R"(
  for i in serial(0, n, 1):
    w[i, 0] = i
  for i_1 in serial(0, n, 1):
    w[i_1, 1] = 2 * i_1
)";
  EXPECT_EQ(after(one, "distribute i after 0"), two);
  EXPECT_EQ(after(one, "distribute i after 0\nfuse i i#2"), cat("\n", one));
}

TEST(ApplyDirective, pieces_of_a_range) {
  std::string_view loop = "  for i in serial(0, n, 1):\n    w[i, 0] = i\n";
  EXPECT_EQ(after(loop, "peel i first 2"), R"(
  for i in serial(0, min(2, n), 1):
    w[i, 0] = i
  for i_1 in serial(2, n, 1):
    w[i_1, 0] = i_1
)");
  EXPECT_EQ(after(loop, "peel i last 1"), R"(
  for i in serial(0, max(n - 1, 0), 1):
    w[i, 0] = i
  for i_1 in serial(max(n - 1, 0), n, 1):
    w[i_1, 0] = i_1
)");
  EXPECT_EQ(after(loop, "split_index_set i at m"), R"(
  for i in serial(0, min(m, n), 1):
    w[i, 0] = i
  for i_1 in serial(max(m, 0), min(m + 1, n), 1):
    w[i_1, 0] = i_1
  for i_2 in serial(max(m + 1, 0), n, 1):
    w[i_2, 0] = i_2
)");
}

TEST(ApplyDirective, an_iteration_gets_the_scalars_that_it_writes_first) {
  std::string_view loop =
      "  s = alloc(i64, (), 'registers')\n  for i in serial(0, n, 1):\n    s[()] = i\n    w[i, 0] = s[()]\n";
  EXPECT_EQ(after(loop, "parallel i chunk 16"), R"(
  s = alloc(i64, (), 'registers')
  for i in parallel(0, n, 1, chunk=16):
    s_1 = alloc(i64, (), 'registers')
    s_1[()] = i
    w[i, 0] = s_1[()]
)");
  EXPECT_EQ(after(loop, "privatize s at i\nvectorize i by 8"), R"(
  s = alloc(i64, (), 'registers')
  for i in vector(0, n, 1, vector_width=8):
    s_1 = alloc(i64, (), 'registers')
    s_1[()] = i
    w[i, 0] = s_1[()]
)");
}

/// Runs a loop that counts its iterations in w[0, 0] and sums its iterator in w[0, 1].
std::vector<int64_t> count(const std::string &range, std::string_view schedule, int64_t p) {
  Func f = unit::ir(cat("def f(w: inout(i64, (n, m)), p: weak(i64)):\n  fp('strict')\n  dims(n, m)\n",
                        "  for i in serial(", range,
                        "):\n    w[0, 0] = w[0, 0] + 1\n    w[0, 1] = w[0, 1] + i\n", "  return w\n"));
  LoopNest nest(f);
  SourceMap sources;
  EXPECT_FALSE(replay(nest, sources, sources.add_text("<schedule>", 1, std::string(schedule))));
  std::vector<int64_t> w(4);
  void *data[] = {w.data()};
  int64_t dims[] = {2, 2};
  auto scalar = static_cast<uint64_t>(p);
  EXPECT_EQ(interpret(nest.func(), {data, dims, &scalar}).status, 0);
  w.resize(2);
  return w;
}

TEST(ApplyDirective, blocks_are_right_at_the_ends_of_64_bits) {
  constexpr std::string_view most = "9223372036854775807";
  std::string ranges[] = {cat("p, ", most, ", ", most),
                          cat("p, ", most, ", 4611686018427387904"),
                          cat(most, ", p, -9223372036854775808"),
                          cat(most, ", p, -3074457345618258603"),
                          cat(most, " - 5, ", most, ", 1"),
                          cat("p + 5, p, -1"),
                          cat("p, p + 7, 3"),
                          cat(most, ", p, 1")};
  for (const std::string &range : ranges)
    for (int64_t p : {INT64_MIN, INT64_MIN + 1})
      for (const char *schedule :
           {"split i by 2", "split i by 3", "unroll i by 2", "unroll_and_jam i by 2", "split i by 8"})
        EXPECT_EQ(count(range, schedule, p), count(range, "", p)) << range << ": " << schedule;
}

TEST(ApplyDirective, statements_keep_their_places) {
  Func f = unit::kernel("def f(v):\n  for i in range(v.shape[0]):\n    v[i] = v[i] + 1\n  return v\n",
                        unit::signature({unit::tensor(1)}));
  std::vector<Loc> before, later;
  walk(f.body, [&](const Store &, const Stmt &s) { before.push_back(s.loc()); });
  LoopNest nest(f);
  SourceMap sources;
  ASSERT_FALSE(replay(nest, sources, sources.add_text("<schedule>", 1, "split i by 4\nunroll i1\n")));
  walk(nest.func().body, [&](const Store &, const Stmt &s) { later.push_back(s.loc()); });
  EXPECT_EQ(later, std::vector<Loc>(5, before[0]));
  walk(nest.func().body, [&](const For &, const Stmt &s) { EXPECT_TRUE(s.loc().known()); });
}

}  // namespace
}  // namespace kw
