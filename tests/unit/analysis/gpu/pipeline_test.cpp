// Which loops begin with copies to memory of the team.
#include "analysis/gpu/pipeline.h"

#include <gtest/gtest.h>

#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// Whether the loop over j of a team is one; its lines stand in it.
bool is_pipeline(std::string_view lines, std::string_view head = "for j in serial(0, n, 1, stages=4):") {
  std::string text =
      "def f(a: inout(f32, (n, m)), b: inout(f32, (n, m))):\n  fp('strict')\n  dims(n, m)\n"
      "  for i in grid(0, n, 1, per_block=8):\n    part = alloc(f32, (32,), 'shared')\n"
      "    c = alloc(f32, (), 'registers')\n    c[()] = f32(0.0)\n";
  text += cat("    ", head, "\n");
  for (const std::string &line : split_text(lines, '\n')) text += cat("      ", line, "\n");
  text += "    for last in block(0, 1, 1, threads=32):\n      b[i, 1] = part[last]\n";
  Func f = unit::ir(text + "  return a, b\n");
  bool found = false;
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.iter->name == "j") found = pipeline_of(n).has_value();
  });
  return found;
}

constexpr std::string_view copy = "for k in block(0, 32, 1, threads=32):\n  part[k] = a[j, k]\n";

TEST(Pipeline, begins_with_copies) {
  EXPECT_TRUE(is_pipeline(cat(copy, "b[i, 0] = part[0]")));
  EXPECT_TRUE(
      is_pipeline(cat("first: i64 = j * 2\nfor k in block(0, 32, 1, threads=32):\n  if k < m:\n"
                      "    part[k] = a[first, k]\nb[i, 0] = part[0]")));
  EXPECT_FALSE(is_pipeline(cat("b[i, 0] = part[0]\n", copy.substr(0, copy.size() - 1))));
  EXPECT_FALSE(
      is_pipeline("for k in block(0, 32, 1, threads=32):\n  part[k] = a[j, k] + f32(1.0)\n"
                  "b[i, 0] = part[0]"));
  EXPECT_FALSE(is_pipeline("for k in block(0, 32, 1, threads=32):\n  b[j, k] = a[j, k]\nb[i, 0] = part[0]"));
  EXPECT_FALSE(is_pipeline("for k in serial(0, 32, 1):\n  part[k] = a[j, k]\nb[i, 0] = part[0]"));
}

TEST(Pipeline, counts_from_zero_to_its_end) {
  std::string whole = cat(copy, "b[i, 0] = part[0]");
  EXPECT_FALSE(is_pipeline(whole, "for j in serial(1, n, 1):"));
  EXPECT_FALSE(is_pipeline(whole, "for j in serial(0, n, 2):"));
  EXPECT_FALSE(is_pipeline(cat(whole, "\nif j < m:\n  break")));
}

TEST(Pipeline, an_array_has_the_most_stages_of_its_loops) {
  Func f = unit::ir(
      "def f(a: inout(f32, (n, m))):\n  fp('strict')\n  dims(n, m)\n  for i in grid(0, n, 1, per_block=8):\n"
      "    part = alloc(f32, (32,), 'shared')\n    for j in serial(0, n, 1, stages=2):\n"
      "      for k in block(0, 32, 1, threads=32):\n        part[k] = a[j, k]\n"
      "    for l in serial(0, n, 1, stages=3):\n      for k in block(0, 32, 1, threads=32):\n"
      "        part[k] = a[l, k]\n  return a\n");
  auto stages = stages_of(f.body);
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_EQ(stages.begin()->second, 3u);
}

}  // namespace
}  // namespace kw
