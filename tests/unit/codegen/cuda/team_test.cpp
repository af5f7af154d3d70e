// The texts of block loops, and where their threads wait.
#include "codegen/cuda/team.h"

#include <gtest/gtest.h>

#include "codegen/cuda/barriers.h"
#include "codegen/launch_program.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func function_of(std::string_view lines) {
  std::string text =
      "def f(a: inout(f32, (n, m)), b: inout(f32, (n, m)), p: inout(i64, (n,))):\n  fp('default')\n"
      "  dims(n, m)\n  site('E303', a, 1)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  return unit::ir(text + "  return a, b, p\n");
}

/// The statements of a grid loop over rows i of a and b: f32[n, m], p: i64[n].
std::string grid_of(std::string_view lines, std::string_view per_block = "8") {
  std::string text = cat("for i in grid(0, n, 1, per_block=", per_block, "):\n");
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  return text.substr(0, text.size() - 1);
}
std::string text_of(const std::string &lines) {
  static const Target target = *target_of_class("sm_90");
  EmittedCode code = emit_launches(function_of(lines), target);
  return code.bytes.substr(code.launches.shared_bytes);
}
constexpr std::string_view block = "for j in block(0, m, 1, threads=32):\n  ";

TEST(Team, eight_warps_have_an_iteration_of_the_grid_each) {
  EXPECT_EQ(text_of(grid_of(cat(block, "a[i, j] = b[i, j]"))),
            "KW_TEAM_KERNEL(256) f_0(f32 *__restrict__ a, const f32 *__restrict__ b, i64 n, i64 m) {\n"
            "  const i64 t = kw_thread % 32;\n"
            "  const i64 team = kw_thread / 32;\n"
            "  const i64 i = kw_block_number * 8 + team;\n"
            "  if (i < n) {\n"
            "    {\n"
            "      #pragma unroll 1\n"
            "      for (i64 j = t; j < m; j += 32) {\n"
            "        a[i * m + j] = b[i * m + j];\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(Team, threads_combine_what_they_reduce) {
  std::string text = text_of(grid_of(cat("t = alloc(i64, (), 'registers')\nt[()] = 0\n", block,
                                         "t[()] = max(t[()], cast(i64, a[i, j]))\np[i] = t[()]")));
  EXPECT_NE(text.find("      i64 t_own = t_1;\n"), std::string::npos) << text;
  EXPECT_NE(text.find("      t_1 = kw_fold(t_own, t_combine);\n    }\n"
                      "    if (t == 0) {\n      p[i] = t_1;\n    }\n"),
            std::string::npos)
      << text;
}

TEST(Team, a_check_lets_the_whole_team_leave) {
  std::string text = text_of(grid_of(cat(block, "check(p[j] < n, site=0)\n  a[i, j] = b[i, j]")));
  EXPECT_NE(text.find("kw_fault(call, k * 1 + 0, (i64)v, (i64)n, i);\n          return false;\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("if (!iteration(k)) {\n          failed = true;\n          break;\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("      if (kw_any_warp(failed)) return;\n"), std::string::npos) << text;
}

TEST(Team, small_arrays_of_a_team_lie_in_shared_memory) {
  for (std::string_view space : {"stack", "shared"}) {
    std::string array = cat("t = alloc(f32, (40,), '", space, "')\n");
    std::string text = text_of(grid_of(cat(array, block, "t[j % 40] = a[i, j]")));
    EXPECT_NE(text.find("  KW_SHARED(f32, t_all, 320);\n"), std::string::npos) << text;
    EXPECT_NE(text.find("    f32 *t_1 = t_all + team * (160 / 4);\n"), std::string::npos) << text;
  }
  std::string text = text_of(grid_of(cat("t = alloc(f32, (m,), 'heap')\n", block, "t[j] = a[i, j]")));
  EXPECT_NE(text.find("    f32 *t_1 = t_all + (kw_number_of_thread() / 32) * ("), std::string::npos) << text;
}

/// The statements before which threads wait, as "loop j" or "store p"; all threads see a, b and p.
std::string waits_of(std::string_view lines) {
  Func f = function_of(grid_of(lines));
  const For &grid = *as<For>(f.body);
  TeamBarriers waits = team_barriers(grid.body, [](const Buf &b) { return b->space != Space::registers; });
  std::vector<std::string> out;
  for_each_statement(grid.body, [&](const Stmt &s) {
    if (waits.turns.count(s.p.get())) out.push_back("each turn");
    if (!waits.before.count(s.p.get())) return true;
    if (const For *n = as<For>(s)) out.push_back(cat("loop ", n->iter->name));
    if (const Store *n = as<Store>(s)) out.push_back(cat("store ", n->buf->sym->name));
    if (const Let *n = as<Let>(s)) out.push_back(cat("let ", n->sym->name));
    if (as<If>(s)) out.push_back("if");
    return true;
  });
  return join_text(out, ", ");
}
std::string loop(std::string_view name, std::string_view body) {
  return cat("for ", name, " in block(0, m, 1, threads=32):\n  ", body, "\n");
}

TEST(TeamBarriers, loops_wait_for_what_earlier_ones_stored) {
  EXPECT_EQ(waits_of(loop("j", "a[i, j] = b[i, j]") + loop("k", "b[i, k] = a[i, k]")), "loop k");
  EXPECT_EQ(waits_of(loop("j", "a[i, j] = f32(1.0)") + loop("k", "b[i, k] = f32(2.0)")), "");
  EXPECT_EQ(waits_of(loop("j", "a[i, j] = b[i, j]") + loop("k", "a[i, k] = b[i, m - k - 1]")), "loop k");
}

TEST(TeamBarriers, all_have_tested_a_condition_before_one_changes_it) {
  EXPECT_EQ(waits_of(cat("while p[i] < 3:\n  p[i] = p[i] + 1\n", loop("j", "a[i, j] = b[i, j]"))),
            "each turn, store p");
  EXPECT_EQ(waits_of(cat("while p[i] < 3:\n  b[i, 0] = f32(1.0)\n", loop("j", "a[i, j] = f32(1.0)"))), "");
}

TEST(TeamBarriers, a_turn_that_ends_the_loop_has_not_been_waited_for) {
  EXPECT_EQ(waits_of(cat("while p[i] < 3:\n  p[i] = 5\n  break\n", loop("j", "a[i, j] = cast(f32, p[i])"))),
            "each turn, store p, loop j");
}

TEST(TeamBarriers, one_thread_need_not_wait_for_itself) {
  EXPECT_EQ(waits_of("p[i] = 1\np[i] = p[i] + 1\n"), "");
  EXPECT_EQ(waits_of(cat("p[i] = 1\n", loop("j", "a[i, j] = cast(f32, p[i])"), "p[i] = 2\n")),
            "loop j, store p");
  EXPECT_EQ(waits_of("p[i] = 1\nx: i64 = p[i]\na[i, 0] = cast(f32, x)\n"), "let x");
}

TEST(TeamBarriers, a_loop_around_begins_with_what_its_last_iteration_did) {
  EXPECT_EQ(waits_of("for k in serial(0, 3, 1):\n  for j in block(0, m, 1, threads=32):\n"
                     "    a[i, j] = a[i, m - j - 1]\n"),
            "loop j");
  EXPECT_EQ(waits_of("if p[i] < 3:\n  p[i] = 4\nx: i64 = p[i]\na[i, 0] = cast(f32, x)\n"), "store p, let x");
}

TEST(TeamBarriers, temporaries_are_used_again_by_the_next_iteration_of_the_grid) {
  EXPECT_EQ(waits_of(cat("t = alloc(f32, (m,), 'heap')\n", loop("j", "t[j] = b[i, j]"),
                         loop("k", "a[i, k] = t[m - k - 1]"))),
            "loop j, loop k");
}

}  // namespace
}  // namespace kw
