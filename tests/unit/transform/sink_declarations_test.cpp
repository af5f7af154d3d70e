// Which locals get a cell of their own in each iteration, seen in the IR, and that the name of a local
// decides no order of a sum.
#include "transform/passes.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The body of a kernel over a: f32[n, m] and its result o: f32[n], as it is lowered.
std::string lowered(std::string_view lines) {
  std::string text = "def f(a):\n  o = output_tensor((a.shape[0],), a.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  std::string ir = print(unit::kernel(text + "  return o\n", unit::signature({unit::tensor(2)})));
  size_t begin = ir.find("dims(a_0, a_1)\n") + 15;
  return ir.substr(begin, ir.rfind("  return") - begin);
}

/// Two loops that sum into locals of these names, and whether both sums are in lanes.
bool sums_in_lanes(std::string_view first, std::string_view second) {
  std::string text;
  for (std::string_view name : {first, second})
    text += cat(text.empty() ? "" : "\n", "for i in range(a.shape[0]):\n  ", name,
                " = 0.0\n  for j in range(a.shape[1]):\n    ", name, " += a[i, j]\n  o[i] += ", name);
  std::string ir = lowered(text);
  size_t one = ir.find("@ lanes");
  return one != std::string::npos && ir.find("@ lanes", one + 1) != std::string::npos;
}

TEST(SinkDeclarations, the_name_of_a_local_decides_no_order) {
  EXPECT_TRUE(sums_in_lanes("s", "t"));
  EXPECT_TRUE(sums_in_lanes("s", "s"));
}

TEST(SinkDeclarations, a_name_that_is_set_anew_behind_the_loop_hands_nothing_on) {
  std::string_view loop = "for i in range(a.shape[0]):\n  t = a[i, 0] * a[i, 0]\n  o[i] += t\n";
  std::string ir = lowered(cat("t = a[0, 0]\no[0] = t\n", loop, "t = a[1, 0]\no[1] = t"));
  EXPECT_NE(ir.find("t_1: f32 = a[i, 0] * a[i, 0]"), std::string::npos) << ir;
}

/// A batch of them is looked at together.
TEST(SinkDeclarations, more_than_64_names_are_values_each) {
  std::string lines, loop = "for i in range(a.shape[0]):", sum = "\n  o[i] = t0";
  for (int k = 0; k < 70; ++k) {
    lines += cat("t", k, " = a[0, 0]\no[0] += t", k, "\n");
    loop += k == 65 ? "\n  o[i] += t65\n  t65 = a[i, 0]" : cat("\n  t", k, " = a[i, 0] * ", k, ".0");
    if (k > 0 && k != 65) sum += cat(" + t", k);
  }
  std::string ir = lowered(cat(lines, loop, sum));
  for (int k : {0, 1, 63, 64, 69})
    EXPECT_NE(ir.find(cat("  t", k, "_1: f32 = a[i, 0]")), std::string::npos) << ir;
  EXPECT_NE(ir.find("t65[()] = a[i, 0]"), std::string::npos) << ir;  // which the next iteration reads
}

TEST(SinkDeclarations, a_name_stored_once_becomes_a_value) {
  std::string loop = "for i in range(a.shape[0]):\n  t = a[i, 0] * a[i, 0]\n  o[i] += t";
  EXPECT_EQ(
      lowered(cat(loop, "\n", loop)),
      "  for i in serial(0, a_0, 1):\n    t: f32 = a[i, 0] * a[i, 0]\n    o[i] = o[i] + t\n"
      "  for i_1 in serial(0, a_0, 1):\n    t_1: f32 = a[i_1, 0] * a[i_1, 0]\n    o[i_1] = o[i_1] + t_1\n");
}

TEST(SinkDeclarations, a_name_set_before_the_loop_is_new_in_each_iteration) {
  std::string ir =
      lowered("t = a[0, 0]\no[0] = t\nfor i in range(1, a.shape[0]):\n  t = a[i, 0]\n  o[i] = t + t");
  EXPECT_NE(ir.find("for i in serial(1, a_0, 1):\n    t_1: f32 = a[i, 0]\n"), std::string::npos) << ir;
}

TEST(SinkDeclarations, what_is_handed_on_stays_outside) {
  std::string_view kept = "  t = alloc(f32, (), 'registers')\n";
  auto stays = [&](std::string_view lines) { return lowered(lines).find(kept) != std::string::npos; };
  EXPECT_TRUE(
      stays("t = a[0, 0]\nfor i in range(1, a.shape[0]):\n  o[i] = t\n  t = a[i, 0]"));     // to the next
  EXPECT_TRUE(stays("t = a[0, 0]\nfor i in range(a.shape[0]):\n  t = a[i, 0]\no[0] = t"));  // behind it
  EXPECT_TRUE(
      stays("t = a[0, 0]\nfor i in range(a.shape[0]):\n  if a[i, 0] > 0.0:\n    t = a[i, 0]\n"
            "  o[i] = t"));  // from an iteration that did store it
  EXPECT_TRUE(
      stays("t = a[0, 0]\nfor i in range(a.shape[0]):\n  for j in range(i):\n    t = a[i, j]\n"
            "  o[i] = t"));  // where the inner loop does not run
  EXPECT_TRUE(
      stays("t = a[0, 0]\nfor i in range(a.shape[0]):\n  for j in range(9):\n"
            "    if a[i, j] > 0.0:\n      break\n    t = a[i, j]\n  o[i] = t"));
  EXPECT_TRUE(stays("t = a[0, 0]\nwhile t > 0.0:\n  t = a[1, 0] - t\n  o[0] = t"));  // to the condition
}

TEST(SinkDeclarations, jumps_go_where_they_go) {
  std::string ir = lowered(
      "t = a[0, 0]\nfor i in range(a.shape[0]):\n  if a[i, 0] > 0.0:\n    continue\n  t = a[i, 1]\n  o[i] = "
      "t + t");
  EXPECT_NE(ir.find("    t_1: f32 = a[i, 1]\n"), std::string::npos) << ir;
  ir = lowered(
      "t = a[0, 0]\nfor i in range(a.shape[0]):\n  t = a[i, 1]\n  if t > 0.0:\n    break\n  o[i] = t\n"
      "o[0] += t");
  EXPECT_NE(ir.find("  t = alloc"), std::string::npos) << ir;
}

TEST(SinkDeclarations, a_while_that_only_a_break_ends_has_run) {
  std::string_view body = "  while True:\n    t = a[i, 0]\n    break\n  o[i] = t";
  std::string ir = lowered(cat("t = a[0, 0]\nfor i in range(a.shape[0]):\n", body));
  EXPECT_NE(ir.find("    t_1 = alloc(f32, (), 'registers')\n"), std::string::npos) << ir;
}

}  // namespace
}  // namespace kw
