// Which loops of sums can be cut into blocks.
#include "analysis/perfect_reduction.h"

#include <gtest/gtest.h>

#include "ir/accumulation.h"
#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "j i": the pure band that begins with the loop i of a function over a: f32[n, n], s: f32[n], w: i64[n].
std::string band_of(std::string_view body) {
  Func f = unit::ir(
      cat("def f(a: buf(f32, (n, n)), s: inout(f32, (n,)), w: buf(i64, (n,))):\n  fp('default')\n  dims(n)\n"
          "  site('E303', a, 0)\n",
          body, "  return s\n"));
  std::string out;
  std::vector<const For *> around;
  for_each_store(f.body, [&](const Stmt &, const Store &, const std::vector<const For *> &loops) {
    auto at = std::find_if(loops.begin(), loops.end(), [](const For *n) { return n->iter->name == "i"; });
    if (!out.empty() || at == loops.end()) return;
    for (const For *loop : perfect_reduction_at(**at, {loops.begin(), at})) out += loop->iter->name;
  });
  return out;
}

TEST(PerfectReduction, loops_that_only_sum_are_a_band) {
  EXPECT_EQ(band_of("  for i in serial(0, n, 1):\n    s[0] = (s[0] + a[0, i]) @ lanes(i)\n"), "i");
  EXPECT_EQ(band_of("  for i in serial(0, n, 1):\n    for j in serial(0, n, 1):\n"
                    "      s[0] = (s[0] + a[i, j]) @ lanes(i, j)\n"),
            "ji");
  EXPECT_EQ(
      band_of("  for i in serial(0, n, 1):\n    c: f32 = a[i, 0]\n    for j in serial(0, n, 1):\n"
              "      t = alloc(f32, (), 'registers')\n      t[()] = a[i, j] * c\n"
              "      s[0] = (s[0] + t[()]) @ lanes(i, j)\n      s[1] = (s[1] + a[j, i]) @ lanes(i, j)\n"),
      "ji");
}

TEST(PerfectReduction, loops_that_do_more_are_none) {
  std::string_view row = "    for j in serial(0, n, 1):\n      s[0] = (s[0] + a[i, j]) @ lanes(i, j)\n";
  EXPECT_EQ(band_of(cat("  for i in serial(0, n, 1):\n", row, "    s[2] = a[i, i]\n")), "");
  EXPECT_EQ(band_of(cat("  for r in serial(0, n, 1):\n    for i in serial(0, n, 1):\n"
                        "      s[0] = (s[0] + a[r, i]) @ lanes(r, i)\n")),
            "");  // begins with r
  EXPECT_EQ(band_of("  for i in serial(0, n, 1):\n    for j in serial(0, n, 1):\n"
                    "      s[i] = (s[i] + a[i, j]) @ lanes(j)\n"),
            "");  // begins with j
  EXPECT_EQ(band_of("  for i in serial(0, n, 1):\n    check(i < 5, site=0)\n"
                    "    s[0] = (s[0] + a[0, i]) @ lanes(i)\n"),
            "");
  EXPECT_EQ(band_of("  for i in serial(0, n, 1):\n    s[0] = s[0] + a[0, i]\n"), "");
  EXPECT_EQ(
      band_of("  for i in serial(0, n, 1):\n    s[i] = f32(0.0)\n    s[0] = (s[0] + a[0, i]) @ lanes(i)\n"),
      "");
}

TEST(PerfectReduction, ends_of_loops_may_come_from_data) {
  auto known = [](std::string_view end) {
    Func f =
        unit::ir(cat("def f(a: buf(f32, (n,)), s: inout(f32, (n,)), w: buf(i64, (n,)), k: weak(i64)):\n"
                     "  fp('default')\n  dims(n)\n  for i in serial(0, ",
                     end, ", 1):\n    s[0] = (s[0] + a[i]) @ lanes(i)\n  return s\n"));
    return has_call_constant_bounds({as<For>(f.body)});
  };
  EXPECT_TRUE(known("n"));
  EXPECT_TRUE(known("min(n, k) - 2"));
  EXPECT_FALSE(known("w[0]"));
}

}  // namespace
}  // namespace kw
