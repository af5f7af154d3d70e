// For which loops threads copy squares of elements in vectors, and in which calls.
#include "schedule/launches/vector_tiles.h"

#include <gtest/gtest.h>

#include "analysis/bounds.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "schedule/launches/staged_tiles.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// What holds in the calls that get vector tiles, and the elements of a vector: "m % 4, n % 4, misaligned;
/// by 4"; "" if there are none. The kernel has y: T[n, m], x: T[m, n] and b: f32[n, m]; its lines are the
/// body of loops over i and j.
std::string tiles(std::string_view line, std::string_view t = "f32", std::string_view i = "0, n",
                  std::string_view j = "0, m") {
  Func f = unit::ir(cat("def f(x: buf(", t, ", (m, n)), b: buf(f32, (n, m)), y: out(", t,
                        ", (n, m)), z: out(f64, (n, m))):\n  fp('strict')\n  dims(m, n)\n",
                        "  misaligned(misaligned)\n  for i in serial(", i, ", 1):\n    for j in serial(", j,
                        ", 1):\n      ", line, "\n  return y, z\n"));
  const For &outer = *as<For>(f.body), &inner = *as<For>(outer.body);
  auto made = vector_tiles(outer, inner, stageable_buffers(outer, inner), nullptr, f.misaligned, {});
  if (!made) return "";
  std::vector<std::string> wanted;
  std::string text = print(made->fits);
  for (std::string_view word : {"m % 4", "n % 4", "m % 2", "n % 2", "misaligned"})
    if (text.find(word) != std::string::npos) wanted.emplace_back(word);
  uint32_t width = 0;
  walk(made->launch, [&](const For &n, const Stmt &) { width = std::max(width, n.how.vector_width); });
  return cat(join_text(wanted, ", "), "; by ", width);
}

TEST(VectorTiles, all_rows_are_whole_vectors_in_calls_that_have_them) {
  EXPECT_EQ(tiles("y[i, j] = x[j, i]"), "m % 4, n % 4, misaligned; by 4");
  EXPECT_EQ(tiles("y[i, j] = x[j, i]", "f16"), "m % 4, n % 4, misaligned; by 4");
  EXPECT_EQ(tiles("y[i, j] = x[j, i]", "u8"), "m % 4, n % 4, misaligned; by 4");
  EXPECT_EQ(tiles("y[i, j] = x[j, i] + b[i, j]"), "m % 4, n % 4, misaligned; by 4");
}

TEST(VectorTiles, a_vector_has_at_most_16_bytes) {
  EXPECT_EQ(tiles("y[i, j] = x[j, i]", "f64"), "m % 2, n % 2, misaligned; by 2");
  EXPECT_EQ(tiles("z[i, j] = cast(f64, x[j, i])"), "m % 2, n % 2, misaligned; by 2");
}

TEST(VectorTiles, iterations_begin_and_end_with_vectors) {
  EXPECT_EQ(tiles("y[i, j] = x[j, i]", "f32", "8, 72", "0, 64"), "m % 4, n % 4, misaligned; by 4");
  EXPECT_EQ(tiles("y[i, j] = x[j, i]", "f32", "2, n"), "m % 2, n % 2, misaligned; by 2");
  EXPECT_EQ(tiles("y[i, j] = x[j, i]", "f32", "0, 66"), "m % 2, n % 2, misaligned; by 2");
  EXPECT_EQ(tiles("y[i, j] = x[j, i]", "f32", "1, n"), "");
  EXPECT_EQ(tiles("y[i, j] = x[j, i]", "f32", "0, n", "0, 65"), "");
}

TEST(VectorTiles, there_is_a_block_for_each_tile) {
  auto fits = [](std::string_view i, std::string_view b) {
    Func f = unit::ir(cat(
        "def f(x: buf(f32, (l, m, n)), y: out(f32, (l, n, m))):\n  fp('strict')\n  dims(l, m, n)\n",
        "  misaligned(misaligned)\n  for b in grid(0, ", b, ", 1, per_block=1):\n", "    for i in serial(0, ",
        i, ", 1):\n      for j in serial(0, m, 1):\n", "        y[b, i, j] = x[b, j, i]\n  return y\n"));
    const For &grid = *as<For>(f.body), &outer = *as<For>(grid.body), &inner = *as<For>(outer.body);
    auto made = vector_tiles(outer, inner, stageable_buffers(outer, inner), &grid, f.misaligned, {});
    return made ? condition_text(f, made->fits, true) : "";
  };
  constexpr std::string_view aligned = "all arrays are aligned to 16 bytes";
  EXPECT_EQ(fits("n", "l"), cat("x.shape[2] % 4 == 0 and x.shape[1] % 4 == 0 and x.shape[2] <= 4194240 and "
                                "x.shape[1] <= 4194240 and x.shape[0] <= 65535 and ",
                                aligned));
  EXPECT_EQ(fits("4194240", "65535"),
            cat("x.shape[1] % 4 == 0 and x.shape[2] % 4 == 0 and x.shape[1] <= 4194240 and ", aligned));
  EXPECT_EQ(fits("4194244", "l"), "");
  EXPECT_EQ(fits("n", "65536"), "");
}

TEST(VectorTiles, rows_lie_apart_by_whole_vectors) {
  Func f = unit::ir(
      "def f(x: buf(f32, (m, n), strides=(s, 1)), y: out(f32, (n, m))):\n  fp('strict')\n  dims(m, n, s)\n"
      "  misaligned(misaligned)\n  for i in serial(0, n, 1):\n    for j in serial(0, m, 1):\n"
      "      y[i, j] = x[j, i]\n  return y\n");
  const For &outer = *as<For>(f.body), &inner = *as<For>(outer.body);
  auto made = vector_tiles(outer, inner, stageable_buffers(outer, inner), nullptr, f.misaligned, {});
  ASSERT_TRUE(made);
  EXPECT_NE(print(made->fits).find("(s % 4) == 0"), std::string::npos);
}

TEST(VectorTiles, other_accesses_keep_single_elements) {
  EXPECT_EQ(tiles("y[i, j + 1] = x[j, i]", "f32", "0, n", "0, m - 1"), "");
  EXPECT_EQ(tiles("y[i, j] = x[j, i] + b[i, m - 1 - j]"), "");
  EXPECT_EQ(tiles("k: i64 = m - 1 - j\n      y[i, k] = x[j, i]"), "");
  EXPECT_EQ(tiles("y[i, j] = not x[j, i]", "b1"), "");
  EXPECT_EQ(tiles("y[i, j] = exp(x[j, i])"), "");
}

}  // namespace
}  // namespace kw
