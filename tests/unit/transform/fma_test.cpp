// fma by the rule of language.md 3, and which of the fast mode become a product and a sum again.
#include "transform/passes.h"

#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/match.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func kernel_of(std::string_view expression, DType dtype, FpMode fp) {
  std::string text =
      cat("def f(a, b, c, d):\n  y = output_tensor((1,), a.dtype)\n  for i in range(a.shape[0]):\n",
          "    y[0] = ", expression, "\n  return y\n");
  CodegenOptions options;
  options.fp = fp;
  ArgSpec arg = unit::tensor(1, dtype);
  return unit::kernel(text, unit::signature({arg, arg, arg, arg}), options);
}

/// The stored expression after the pass, with A for a[i] and so on.
std::string fused(std::string_view expression, DType dtype = DType::f64, FpMode fp = FpMode::normal,
                  const Target &target = unit::with_fma()) {
  std::string source;
  for (char ch : expression)
    source += ch >= 'A' && ch <= 'D' ? cat(static_cast<char>(ch | 0x20), "[i]") : std::string(1, ch);
  Func f = fuse_fma(kernel_of(source, dtype, fp), target);
  EXPECT_EQ(verify(f), "");
  std::string text, out;
  walk(f.body, [&](const Store &n, const Stmt &) { text = print(n.value); });
  for (size_t k = 0; k < text.size(); ++k) {
    bool element = text.compare(k + 1, 3, "[i]") == 0;
    out += element ? static_cast<char>(text[k] & ~0x20) : text[k];
    if (element) k += 3;
  }
  return out;
}

TEST(FuseFma, the_four_patterns) {
  EXPECT_EQ(fused("A * B + C"), "fma(A, B, C)");
  EXPECT_EQ(fused("C + A * B"), "fma(A, B, C)");
  EXPECT_EQ(fused("A * B - C"), "fma(A, B, neg(C))");
  EXPECT_EQ(fused("C - A * B"), "fma(neg(A), B, C)");
}

TEST(FuseFma, of_two_products_the_left_one_is_fused) {
  EXPECT_EQ(fused("A * B + C * D"), "fma(A, B, C * D)");
  EXPECT_EQ(fused("A * B - C * D"), "fma(A, B, neg(C * D))");
}

TEST(FuseFma, chains_fuse_each_sum_once) {
  EXPECT_EQ(fused("A * B + C + D"), "fma(A, B, C) + D");
  EXPECT_EQ(fused("A + B * C + C * D"), "fma(C, D, fma(B, C, A))");
  EXPECT_EQ(fused("(A * B + C) * D + A"), "fma(fma(A, B, C), D, A)");
  EXPECT_EQ(fused("A * (B * C + D)"), "A * fma(B, C, D)");
}

TEST(FuseFma, the_square_operator_is_no_product) {
  EXPECT_EQ(fused("A ** 2 + B"), "(A * A) + B");
  EXPECT_EQ(fused("B - A ** 2"), "B - (A * A)");
  EXPECT_EQ(fused("(A * B + C) ** 2 + D"), "(fma(A, B, C) * fma(A, B, C)) + D");
  EXPECT_EQ(fused("A ** 2 + B * C"), "fma(B, C, A * A)");
  EXPECT_EQ(fused("A * A + B"), "fma(A, A, B)");
}

TEST(FuseFma, a_product_with_a_constant_counts) {
  EXPECT_EQ(fused("2.0 * A + B"), "fma(2.0, A, B)");
  EXPECT_EQ(fused("A * B - 1.0"), "fma(A, B, -1.0)");
  EXPECT_EQ(fused("A * B + 1"), "fma(A, B, 1.0)");
}

TEST(FuseFma, float32_and_float64_only) {
  EXPECT_EQ(fused("A * B + C", DType::f32), "fma(A, B, C)");
  EXPECT_EQ(fused("A * B + C", DType::i64), "(A * B) + C");
  EXPECT_EQ(fused("A * B + C", DType::i32), "(A * B) + C");
}

TEST(FuseFma, other_operators_do_not_fuse) {
  EXPECT_EQ(fused("A * B / C"), "(A * B) / C");
  EXPECT_EQ(fused("max(A * B, C)"), "max(A * B, C)");
  EXPECT_EQ(fused("-(A * B) + C"), "(neg(A * B)) + C");
  EXPECT_EQ(fused("A * B"), "A * B");
}

TEST(FuseFma, strict_mode_and_targets_without_fma_are_left_alone) {
  EXPECT_EQ(fused("A * B + C", DType::f64, FpMode::strict), "(A * B) + C");
  EXPECT_EQ(fused("A * B + C", DType::f64, FpMode::normal, unit::without_fma()), "(A * B) + C");
  EXPECT_EQ(fused("A * B + C", DType::f64, FpMode::fast), "fma(A, B, C)");
  Func f = kernel_of("a[i] * b[i] + c[i]", DType::f64, FpMode::strict);
  EXPECT_EQ(fuse_fma(f, unit::with_fma()).body.p, f.body.p);
}

TEST(FuseFma, a_product_in_a_local_is_not_fused) {
  Func f = unit::kernel(
      "def f(a):\n  y = output_tensor((1,), a.dtype)\n  t = a[0] * a[1]\n  y[0] = t + a[2]\n  return y\n",
      unit::signature({unit::tensor(1, DType::f64)}));
  EXPECT_TRUE(equal(fuse_fma(f, unit::with_fma()), f));
}

TEST(FuseFma, accumulations_fuse_and_keep_their_order) {
  Func f = unit::kernel(
      "def f(a):\n  y = output_tensor((1,), a.dtype)\n  for k in range(a.shape[0]):\n"
      "    y[0] += a[k] * a[k]\n  return y\n",
      unit::signature({unit::tensor(1, DType::f64)}));
  Func g = fuse_fma(f, unit::with_fma());
  EXPECT_NE(print(g).find("y[0] = fma(a[k], a[k], y[0]) @ lanes(k)"), std::string::npos) << print(g);
}

std::string after(std::string_view body, std::string_view fp = "fast") {
  std::string text = cat("def f(a: inout(f64, (n,)), b: buf(f64, (n,))):\n  fp('", fp,
                         "')\n  dims(n)\n  s = alloc(f64, (), 'registers')\n  t = alloc(f64, (), "
                         "'registers')\n  s[()] = f64(0.0)\n"
                         "  t[()] = f64(0.0)\n");
  for (const std::string &line : split_text(body, '\n')) text += cat("  ", line, "\n");
  Func out = split_fma(unit::ir(text + "  return a\n"), {});
  EXPECT_EQ(verify(out), "");
  std::string printed = print(out);
  size_t begin = printed.find("  for "), end = printed.find("  return a\n");
  if (begin == std::string::npos) begin = printed.find("  while ");
  return printed.substr(begin, end - begin);
}

TEST(SplitFma, sums_that_wait_for_the_iteration_before) {
  EXPECT_EQ(after("for i in serial(0, n, 1):\n  s[()] = fma(b[i], a[i], s[()])"),
            "  for i in serial(0, n, 1):\n    s[()] = s[()] + (b[i] * a[i])\n");
  EXPECT_EQ(after("for i in serial(0, n, 1):\n  s[()] = fma(neg(b[i]), a[i], s[()])"),
            "  for i in serial(0, n, 1):\n    s[()] = s[()] - (b[i] * a[i])\n");
  EXPECT_EQ(after("for i in serial(1, n, 1):\n  x: f64 = a[i - 1]\n  a[i] = fma(b[i], f64(2.0), x)"),
            "  for i in serial(1, n, 1):\n    x: f64 = a[i - 1]\n    a[i] = x + (b[i] * 2.0)\n");
  EXPECT_EQ(after("while s[()] < f64(9.0):\n  s[()] = fma(b[0], b[1], s[()])"),
            "  while s[()] < 9.0:\n    s[()] = s[()] + (b[0] * b[1])\n");
}

TEST(SplitFma, what_does_not_wait_or_is_no_sequence_stays) {
  for (std::string body :
       {"for i in serial(0, n, 1):\n  a[i] = fma(b[i], f64(2.0), b[i])",                  // waits for nothing
        "for i in serial(0, n, 1):\n  s[()] = fma(s[()], f64(0.5), b[i])",                // the product waits
        "for i in serial(0, n, 1):\n  s[()] = fma(s[()], b[i], s[()])",                   // as above
        "for i in vector(0, n, 1, vector_width=8):\n  a[i] = fma(b[i], f64(2.0), a[i])",  // vectors
        "for i in vector(0, n, 1, vector_width=8):\n  for k in serial(0, 9, 1):\n    a[i] = fma(b[k], b[i], "
        "a[i])",
        "for i in serial(0, n, 1):\n  s[()] = fma(b[i], b[i], s[()]) @ lanes(i)"}) {
    std::string printed = after(body);
    EXPECT_NE(printed.find("fma("), std::string::npos) << printed;
  }
}

TEST(SplitFma, many_in_a_loop_fill_the_machine_anyway) {
  std::string lines = "for i in serial(0, n, 1):\n  s[()] = fma(b[i], b[i], s[()])\n";
  for (int k = 0; k < 4; ++k) lines += cat("  a[", k, "] = fma(b[i], f64(2.0), a[", k, "])\n");
  EXPECT_EQ(after(lines.substr(0, lines.rfind("  a["))).find("fma("), std::string::npos);
  EXPECT_NE(after(lines).find("s[()] = fma("), std::string::npos);
}

TEST(SplitFma, the_default_mode_keeps_every_fma) {
  std::string printed = after("for i in serial(0, n, 1):\n  s[()] = fma(b[i], a[i], s[()])", "default");
  EXPECT_NE(printed.find("fma("), std::string::npos) << printed;
}

}  // namespace
}  // namespace kw
