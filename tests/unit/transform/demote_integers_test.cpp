// What is computed in 16 bits, and what keeps its width.
#include "transform/passes.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func narrowed(std::string_view body) {
  Func f = unit::ir(
      cat("def f(a: inout(u8, (n,)), s: inout(i8, (n,)), w: inout(i32, (n,)), x: inout(f32, (n,))):\n"
          "  fp('default')\n  dims(n)\n  for i in serial(0, n, 1):\n",
          body, "  return a\n"));
  Func out = demote_integers(f, {});
  EXPECT_EQ(verify(out), "");
  return out;
}

/// The value of the last store.
std::string stored(std::string_view body) {
  Func f = narrowed(body);
  std::string out;
  walk(f.body, [&](const Store &n, const Stmt &) { out = print(n.value); });
  return out;
}

TEST(DemoteIntegers, sums_of_bytes_take_16_bits) {
  EXPECT_EQ(stored("    a[i] = cast(u8, cast(i32, a[i]) + cast(i32, s[i]))\n"),
            "cast(u8, cast(i16, a[i]) + cast(i16, s[i]))");
  EXPECT_EQ(stored("    w[i] = abs(i32(3) - cast(i32, a[i]))\n"), "cast(i32, abs(i16(3) - cast(i16, a[i])))");
  EXPECT_EQ(stored("    x[i] = cast(f32, cast(i32, a[i]) * i32(127))\n"),
            "cast(f32, cast(i16, a[i]) * i16(127))");
}

TEST(DemoteIntegers, what_may_not_fit_keeps_its_width) {
  EXPECT_EQ(stored("    w[i] = cast(i32, a[i]) * i32(129)\n"), "cast(i32, a[i]) * i32(129)");
  EXPECT_EQ(stored("    w[i] = cast(i32, s[i]) * i32(-257)\n"), "cast(i32, s[i]) * i32(-257)");
  EXPECT_EQ(stored("    w[i] = cast(i32, s[i]) * i32(256)\n"), "cast(i32, cast(i16, s[i]) * i16(256))");
  EXPECT_EQ(stored("    w[i] = w[i] + cast(i32, a[i])\n"), "w[i] + cast(i32, a[i])");
  EXPECT_EQ(stored("    w[i] = (cast(i32, a[i]) + i32(1)) // i32(3)\n"),
            "cast(i32, cast(i16, a[i]) + i16(1)) // i32(3)");
}

TEST(DemoteIntegers, names_and_comparisons_are_narrow_as_well) {
  EXPECT_EQ(stored("    t: i32 = cast(i32, a[i]) - i32(9)\n    w[i] = t if t < i32(4) else i32(0) - t\n"),
            "cast(i32, t if (t < i16(4)) else (i16(0) - t))");
}

TEST(DemoteIntegers, kernels_without_bytes_stay) {
  Func f = unit::ir(
      "def f(w: inout(i32, (n,))):\n  fp('default')\n  dims(n)\n  for i in serial(0, n, 1):\n"
      "    w[i] = w[i] + i32(1)\n  return w\n");
  EXPECT_EQ(demote_integers(f, {}).body.p, f.body.p);
}

}  // namespace
}  // namespace kw
