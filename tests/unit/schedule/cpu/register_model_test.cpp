// The model against tiles of matrix products that were measured: which of them spill, and which are faster;
// and the lanes that loops over elements of several sizes get.
#include "schedule/cpu/register_model.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Target avx2() { return {"x86_64-unknown-linux-gnu", {"avx", "avx2", "fma"}}; }
Target avx512() { return {"x86_64-unknown-linux-gnu", {"avx", "avx2", "avx512f", "fma"}}; }

struct Tile {
  int64_t rows, vectors;
  double gflops;  ///< measured, in the nearest cache
};

/// The work of a tile of a matrix product: `rows` rows of sums, each times one row of the right factor.
BodyWork tile_work(int64_t rows, bool fused) { return {1, rows, 0, fused ? rows : 2 * rows, rows, 1}; }

bool fits(const Target &target, const Tile &t, bool fused) {
  return fits_registers(target, tile_work(t.rows, fused), t.vectors, fused);
}
/// Products per cycle.
double rate(const Tile &t, bool fused) {
  return static_cast<double>(t.rows * t.vectors) /
         cycles_of(avx2().machine(), tile_work(t.rows, fused), t.vectors);
}

TEST(RegisterModel, tiles_that_spill_do_not_fit) {
  for (Tile t : {Tile{4, 3, 101.9},
                 {5, 2, 100.9},
                 {4, 2, 100.8},
                 {6, 2, 99.3},
                 {8, 1, 82.7},
                 {12, 1, 67.3},
                 {4, 1, 52.2}})
    EXPECT_TRUE(fits(avx2(), t, true)) << t.rows << "x" << t.vectors;
  for (Tile t : {Tile{3, 4, 43.3}, {7, 2, 37.1}, {8, 2, 40.8}, {5, 3, 37.2}})
    EXPECT_FALSE(fits(avx2(), t, true)) << t.rows << "x" << t.vectors;
  for (Tile t : {Tile{6, 2, 92.4}, {5, 2, 89.7}, {4, 2, 84.4}})
    EXPECT_TRUE(fits(avx2(), t, false)) << t.rows << "x" << t.vectors;
  for (Tile t : {Tile{4, 3, 46.3}, {3, 4, 46.4}})
    EXPECT_FALSE(fits(avx2(), t, false)) << t.rows << "x" << t.vectors;
  EXPECT_TRUE(fits(avx512(), {14, 2, 176}, true));
  EXPECT_TRUE(fits(avx512(), {14, 2, 90}, false));
  EXPECT_FALSE(fits(avx512(), {15, 2, 141}, true));
  EXPECT_FALSE(fits(avx512(), {7, 4, 53}, true));
  EXPECT_FALSE(fits(avx512(), {10, 3, 53}, true));
}

TEST(RegisterModel, faster_tiles_are_not_thought_slower) {
  std::vector<Tile> tiles{{4, 2, 100.8}, {6, 2, 99.3}, {8, 1, 82.7}, {4, 1, 52.2}};
  for (size_t i = 0; i + 1 < tiles.size(); ++i)
    EXPECT_GE(rate(tiles[i], true), rate(tiles[i + 1], true)) << i;
  EXPECT_DOUBLE_EQ(rate({6, 2, 0}, true), 2);  // the peak
  EXPECT_DOUBLE_EQ(rate({4, 1, 0}, true), 1);  // the sums wait for themselves
  EXPECT_LT(rate({8, 1, 0}, true), 2);         // the loads
  EXPECT_DOUBLE_EQ(rate({14, 2, 0}, false), 1);
}

TEST(RegisterModel, more_operations_leave_fewer_registers_for_each_value) {
  auto vectors = [](const Target &target, uint32_t operations) {
    VectorizationAnalysis::Work work;
    work.operations = operations;
    return vectors_per_value(target, work);
  };
  EXPECT_EQ(vectors(avx512(), 1), 4u);
  EXPECT_EQ(vectors(avx512(), 8), 2u);
  EXPECT_EQ(vectors(avx2(), 8), 1u);
}

TEST(RegisterModel, lanes_apart_are_worth_vectors_where_registers_transpose_them) {
  auto lanes = [](std::string_view dtype) {
    Func f = unit::ir(cat("def f(a: buf(", dtype, ", (m, n)), c: out(", dtype, ", (n, m))):\n",
                          "  fp('default')\n  dims(n, m)\n  for i in serial(0, n, 1):\n",
                          "    for j in serial(0, m, 1):\n      c[i, j] = a[j, i]\n  return c\n"));
    const For &loop = *as<For>(unit::find_loop(f, "i").loop);
    VectorizationAnalysis view(loop);
    return lanes_of_loop(avx512(), loop, view);
  };
  EXPECT_EQ(lanes("f32"), 16u);
  EXPECT_EQ(lanes("f64"), 8u);
  // blocks of these would stay accesses one by one
  EXPECT_EQ(lanes("u8"), 0u);
  EXPECT_EQ(lanes("i16"), 0u);
}

}  // namespace
}  // namespace kw
