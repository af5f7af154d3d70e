// How subscripts and conditions change over iterations that one thread executes side by side, and the
// accesses of teams that follow from it.
#include "analysis/gpu/side_by_side.h"

#include <gtest/gtest.h>

#include "analysis/gpu/vector_accesses.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A block loop over k from `lo` to `hi` in a grid loop over i; its lines stand in it.
For block_loop(std::string_view lines, std::string_view lo = "0", std::string_view hi = "1024") {
  std::string text =
      "def f(a: inout(f32, (n, m)), b: inout(f32, (n, m)), h: inout(f16, (n, m))):\n  fp('strict')\n  "
      "dims(n, m)\n"
      "  for i in grid(0, n, 1, per_block=8):\n    row = alloc(f32, (1024,), 'shared')\n"
      "    tile = alloc(f32, (32, 33), 'shared')\n";
  text += cat("    for k in block(", lo, ", ", hi, ", 1, threads=32):\n");
  for (const std::string &line : split_text(lines, '\n')) text += cat("      ", line, "\n");
  Func f = unit::ir(text + "  return a, b, h\n");
  For out{};
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.kind == ForKind::block) out = n;
  });
  return out;
}

/// Returns "BUFFER:BASE" for each access of a loop by 4.
std::string accesses(const For &n) {
  std::vector<std::string> out;
  for (const VectorAccess &a : vector_loop(n, 4).accesses) {
    auto base = as_int(a.base);
    out.push_back(cat(a.buf->sym->name, ":", base ? cat(*base) : "x", a.is_loaded ? " load" : "",
                      a.is_stored ? " store" : ""));
  }
  return join_text(out, ", ");
}

TEST(SideBySide, rows) {
  EXPECT_EQ(accesses(block_loop("b[i, k] = a[i, k]")), "a:0 load, b:0 store");
  EXPECT_EQ(accesses(block_loop("b[i, k + 4] = a[i, k + 3]")), "b:4 store");
  EXPECT_EQ(accesses(block_loop("b[i, k + n] = a[i, k * 2]")), "b:x store");
  EXPECT_EQ(accesses(block_loop("b[i, k] = a[k, i]")), "b:0 store");
  EXPECT_EQ(accesses(block_loop("b[i, k] = a[i, k]\nb[i, k] = b[i, k] + f32(1.0)")), "a:0 load, b:0 store");
  EXPECT_EQ(accesses(block_loop("row[k] = a[i, k]\nb[i, k] = row[k]")), "a:0 load, row:0 store, b:0 store");
  EXPECT_EQ(accesses(block_loop("b[i, k] = b[i, k + 1]")), "");
}

TEST(SideBySide, quotients_and_remainders) {
  std::string_view names = "r: i64 = k // 32\nc: i64 = i * 32 + k % 32\n";
  EXPECT_EQ(accesses(block_loop(cat(names, "tile[r, k % 32] = a[r, c]"))), "a:0 load");
  EXPECT_EQ(accesses(block_loop(cat(names, "if r < n and c < m:\n  tile[r, k % 32] = a[r, c]"))), "a:0 load");
  EXPECT_EQ(accesses(block_loop(cat(names, "if r < n:\n  tile[r, k % 32] = a[r, c]"), "0", "1000")),
            "a:0 load");
  // the column of the last iteration is not the greatest
  EXPECT_EQ(accesses(block_loop(cat(names, "if c < m:\n  tile[r, k % 32] = a[r, c]"), "0", "1000")), "");
  EXPECT_EQ(accesses(block_loop("if k % 32 < m:\n  b[i, k] = a[i, k]", "0", "32")), "a:0 load, b:0 store");
  EXPECT_EQ(accesses(block_loop("if k % 32 < m:\n  b[i, k] = a[i, k]", "5", "37")), "");
  EXPECT_EQ(accesses(block_loop("r: i64 = k // 6\nb[i, k] = a[r, k % 6]")), "b:0 store");
  EXPECT_EQ(accesses(block_loop("r: i64 = k // 32\nb[i, k] = a[r, (k + 1) % 32]")), "b:0 store");
  EXPECT_EQ(accesses(block_loop("b[k // 8, k] = f32(0.0)")), "b:0 store");
  EXPECT_EQ(accesses(block_loop("b[k // 6, k] = f32(0.0)")), "");
}

TEST(SideBySide, digits_of_the_iterator) {
  auto load = [](std::string_view column) {
    return accesses(block_loop(cat("row[0] = a[i, ", column, "]")));
  };
  EXPECT_EQ(load("k // 256 * 32 + k % 32"), "a:0 load");
  EXPECT_EQ(load("k % 32 + k // 32 % 8 * 4"), "a:0 load");
  EXPECT_EQ(load("k // 256 * 6 + k % 32"), "");  // some vectors begin at 6
  EXPECT_EQ(load("i * 6 + k % 32"), "a:x load");
  EXPECT_EQ(load("k // 2 * 32 + k % 32"), "");  // changes within a vector
  auto guarded = [](std::string_view value, std::string_view hi = "1024") {
    return accesses(block_loop(cat("if ", value, " < m:\n  b[i, k] = a[i, k]"), "0", hi));
  };
  std::string_view both = "a:0 load, b:0 store";
  EXPECT_EQ(guarded("k // 32 % 8"), both);
  EXPECT_EQ(guarded("k // 256 * 16 + k // 32 % 4 * 4 + k // 128 % 4"), both);
  EXPECT_EQ(guarded("k // 32 % 7"), "");
  EXPECT_EQ(guarded("k // 32 % 8", "1000"), "");
  EXPECT_EQ(guarded("k // 32 * 32", "1000"), both);
  EXPECT_EQ(guarded("k // 32 * 33"), "");  // may wrap
  EXPECT_EQ(guarded("k % 32 * 134217728"), "");
  EXPECT_EQ(guarded("k % 32 * -1"), "");
}

TEST(SideBySide, conditions) {
  EXPECT_EQ(accesses(block_loop("if k < m:\n  b[i, k] = a[i, k]")), "a:0 load, b:0 store");
  EXPECT_EQ(accesses(block_loop("if k + i <= m:\n  b[i, k] = a[i, k]")), "a:0 load, b:0 store");
  EXPECT_EQ(accesses(block_loop("if m < k:\n  b[i, k] = a[i, k]")), "");
  EXPECT_EQ(accesses(block_loop("if k < m or i < n:\n  b[i, k] = a[i, k]")), "");
  EXPECT_EQ(accesses(block_loop("if k * 2 < m:\n  b[i, k] = a[i, k]")), "");
  EXPECT_EQ(accesses(block_loop("if k < m:\n  b[i, k] = a[i, k]\nelse:\n  b[i, k] = f32(0.0)")), "");
  // a condition that loads is no guard, and its stores are no certain ones
  EXPECT_EQ(accesses(block_loop("if a[i, k] < f32(1.0):\n  b[i, k] = f32(0.0)")), "a:0 load");
}

TEST(SideBySide, what_may_be_loaded_before_it_is_stored) {
  EXPECT_EQ(accesses(block_loop("b[i, k] = b[i, k] if a[i, k] < f32(1.0) else f32(0.0)")),
            "a:0 load, b:0 load store");
  EXPECT_EQ(accesses(block_loop("if a[i, k] < f32(1.0):\n  row[0] = b[i, k]\nb[i, k] = f32(2.0)")),
            "a:0 load, b:0 load store");
  EXPECT_EQ(accesses(block_loop("b[i, k] = f32(2.0)\nif a[i, k] < f32(1.0):\n  row[0] = b[i, k]")),
            "b:0 store, a:0 load");
}

TEST(SideBySide, grid_loops_have_no_guards_and_begin_at_vectors) {
  auto grid = [](std::string_view lines) {
    For n = block_loop(lines);
    n.kind = ForKind::grid, n.how = {};
    return accesses(n);
  };
  EXPECT_EQ(grid("b[i, k] = a[i, k]"), "a:0 load, b:0 store");
  EXPECT_EQ(grid("if k < m:\n  b[i, k] = a[i, k]"), "");
  EXPECT_EQ(grid("b[i, k + i] = a[i, k + n]"), "");
}

TEST(SideBySide, the_width_of_teams) {
  EXPECT_EQ(team_vector_width(block_loop("b[i, k] = a[i, k]")), 4);
  EXPECT_EQ(team_vector_width(block_loop("h[i, k] = h[i, k] + h[i, k]")), 8);
  EXPECT_EQ(team_vector_width(block_loop("b[i, k] = cast(f32, h[i, k])")), 4);
  EXPECT_EQ(team_vector_width(block_loop("b[i, k] = a[k, i]")), 1);  // spread over more memory
  EXPECT_EQ(team_vector_width(block_loop("tile[k // 32, k % 32] = a[i, k]")), 4);
  EXPECT_EQ(team_vector_width(block_loop("b[i, k] = exp(a[i, k])")), 1);
  // subscripts of the first iteration are no work of the others, unless their values are
  std::string twelve = "c: i64 = k + i * i * i * i * i * i * i * i * i * i * i * i\n";
  EXPECT_EQ(team_vector_width(block_loop(cat(twelve, "if c < m:\n  b[i, c] = f32(0.0)"))), 4);
  EXPECT_EQ(team_vector_width(block_loop(cat(twelve, "b[i, c] = cast(f32, c)"))), 1);
  EXPECT_EQ(team_vector_width(block_loop("b[i, 0] = (b[i, 0] + a[i, k]) @ lanes(k)")), 1);
}

}  // namespace
}  // namespace kw
