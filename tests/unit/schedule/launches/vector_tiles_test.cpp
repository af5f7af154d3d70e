// For which loops threads copy squares of elements in vectors, and in which calls.
#include "schedule/launches/vector_tiles.h"

#include <gtest/gtest.h>

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
  auto made = vector_tiles(outer, inner, stageable_buffers(outer, inner), f.misaligned, false, {});
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

TEST(VectorTiles, other_accesses_keep_single_elements) {
  EXPECT_EQ(tiles("y[i, j + 1] = x[j, i]", "f32", "0, n", "0, m - 1"), "");
  EXPECT_EQ(tiles("y[i, j] = x[j, i] + b[i, m - 1 - j]"), "");
  EXPECT_EQ(tiles("y[i, j] = not x[j, i]", "b1"), "");
  EXPECT_EQ(tiles("y[i, j] = exp(x[j, i])"), "");
}

}  // namespace
}  // namespace kw
