// Which accesses of an inner loop go through blocks, and which stay because another access minds.
#include "analysis/vector/register_transpose.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "2 loads 1 stores in 3 blocks" of a loop j inside the lanes i, over a, b: f32[n, n] and w: f64[n, n].
std::string blocks(std::string_view body, uint32_t bits = 32) {
  Func f = unit::ir(
      cat("def f(a: inout(f32, (n, n)), b: inout(f32, (n, n)), w: inout(f64, (n, n)), v: inout(i64, (n,))):\n"
          "  fp('default')\n  dims(n)\n  for i in serial(0, n, 1):\n"
          "    s = alloc(f32, (), 'registers')\n    s[()] = f32(0.0)\n    for j in serial(0, n, 1):\n",
          body, "  return a\n"));
  VectorizationAnalysis view(*as<For>(unit::find_loop(f, "i").loop));
  EXPECT_TRUE(view.is_vectorizable());
  TransposedBlocks found(*as<For>(unit::find_loop(f, "j").loop), view, bits);
  return cat(found.loads(), " loads ", found.stores(), " stores in ", found.blocks().size(), " blocks");
}

TEST(TransposedBlocks, lanes_apart_and_iterations_side_by_side_form_blocks) {
  EXPECT_EQ(blocks("      b[i, j] = a[j, i]\n"), "0 loads 1 stores in 1 blocks");
  EXPECT_EQ(blocks("      s[()] = s[()] + a[i, j]\n"), "1 loads 0 stores in 1 blocks");
  EXPECT_EQ(blocks("      s[()] = s[()] + a[i, j]\n      b[i, j] = s[()]\n"), "1 loads 1 stores in 2 blocks");
  EXPECT_EQ(blocks("      b[2 * i + 1, j] = a[i + 1, j + 3]\n"), "1 loads 1 stores in 2 blocks");
}

TEST(TransposedBlocks, equal_places_share_a_block) {
  EXPECT_EQ(blocks("      b[j, i] = a[i, j] * a[i, j]\n"), "2 loads 0 stores in 1 blocks");
  EXPECT_EQ(blocks("      b[j, i] = a[i, j] * a[i, j + 1]\n"), "2 loads 0 stores in 2 blocks");
}

TEST(TransposedBlocks, rows_and_other_distances_stay) {
  EXPECT_EQ(blocks("      b[j, i] = a[j, i + 1]\n"), "0 loads 0 stores in 0 blocks");
  EXPECT_EQ(blocks("      b[i, 2 * j] = a[i, j * j]\n"), "0 loads 0 stores in 0 blocks");
  EXPECT_EQ(blocks("      b[j, i] = a[i, i + j]\n"), "0 loads 0 stores in 0 blocks");
  EXPECT_EQ(blocks("      b[j, i] = a[v[i], j]\n"), "0 loads 0 stores in 0 blocks");
  EXPECT_EQ(blocks("      b[i + j, j] = f32(1.0)\n"), "0 loads 0 stores in 0 blocks");
}

TEST(TransposedBlocks, elements_of_another_size_stay) {
  EXPECT_EQ(blocks("      b[i, j] = cast(f32, w[i, j])\n"), "0 loads 1 stores in 1 blocks");
  EXPECT_EQ(blocks("      b[i, j] = cast(f32, w[i, j])\n", 64), "1 loads 0 stores in 1 blocks");
}

TEST(TransposedBlocks, what_a_condition_guards_stays) {
  EXPECT_EQ(blocks("      if v[j] < 3:\n        b[i, j] = f32(1.0)\n"), "0 loads 0 stores in 0 blocks");
  EXPECT_EQ(blocks("      b[j, i] = a[i, j] if v[j] < 3 else f32(0.0)\n"), "0 loads 0 stores in 0 blocks");
  EXPECT_EQ(blocks("      b[j, i] = f32(1.0) if a[i, j] < f32(3.0) else f32(0.0)\n"),
            "1 loads 0 stores in 1 blocks");
}

TEST(TransposedBlocks, a_written_buffer_is_read_at_that_place_and_before_only) {
  EXPECT_EQ(blocks("      b[i, j] = b[i, j] + f32(1.0)\n"), "1 loads 1 stores in 2 blocks");
  EXPECT_EQ(blocks("      b[i, j] = b[i, j + 1] + f32(1.0)\n"), "0 loads 0 stores in 0 blocks");
  EXPECT_EQ(blocks("      b[i, j] = a[j, i]\n      s[()] = s[()] + b[i, j]\n"),
            "0 loads 0 stores in 0 blocks");
  EXPECT_EQ(blocks("      b[i, j] = f32(1.0)\n      if v[j] < 3:\n        b[i, j] = f32(2.0)\n"),
            "0 loads 0 stores in 0 blocks");
}

TEST(TransposedBlocks, many_blocks_and_long_bodies_are_left) {
  EXPECT_EQ(blocks("      b[j, i] = a[i, j] + a[i, j + 1] + a[i, j + 2] + a[i, j + 3]\n"),
            "0 loads 0 stores in 0 blocks");
  std::string many;
  for (int k = 0; k < 13; ++k) many += "      s[()] = s[()] + a[i, j]\n";
  EXPECT_EQ(blocks(many), "0 loads 0 stores in 0 blocks");
}

}  // namespace
}  // namespace kw
