// Recognition of selections, and what is said of them.
#include "ir/arg_reduction.h"

#include <gtest/gtest.h>

#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "s <= x: s w" of the one conditional of a body over a, s: f32 and w: i64, or "".
std::string selected(std::string_view body) {
  std::string text =
      "def f(a: buf(f32, (n, m)), s: inout(f32, (n,)), w: inout(i64, (n,))):\n  fp('default')\n  dims(n, m)\n"
      "  for i in serial(0, n, 1):\n";
  for (const std::string &line : split_text(body, '\n')) text += cat("    ", line, "\n");
  Func f = unit::ir(text + "  return s, w\n");
  std::string out;
  walk(f.body, [&](const If &n, const Stmt &) {
    ArgReductionForm found = match_arg_reduction(n);
    if (!found) return;
    std::string_view op = found.op == BinOp::lt ? " < " : " <= ";
    const std::string &best = found.best->sym->name;
    out = found.best_is_left ? cat(best, op, "x:") : cat("x", op, best, ":");
    for (const Buf &b : found.kept) out += cat(" ", b->sym->name);
  });
  return out;
}

TEST(ArgReductionForm, the_best_and_what_belongs_to_it) {
  EXPECT_EQ(selected("if s[0] < a[i, 0]:\n  s[0] = a[i, 0]"), "s < x: s");
  EXPECT_EQ(selected("if a[i, 0] <= s[0]:\n  w[0] = i\n  s[0] = a[i, 0]"), "x <= s: w s");
  EXPECT_EQ(selected("if s[i] < a[i, 0]:\n  s[i] = a[i, 0]\n  w[i] = i"), "s < x: s w");
}

TEST(ArgReductionForm, other_conditionals_select_nothing) {
  EXPECT_EQ(selected("if s[0] < a[i, 0]:\n  s[0] = a[i, 1]"), "");
  EXPECT_EQ(selected("if s[0] < a[i, 0]:\n  s[0] = a[i, 0]\nelse:\n  w[0] = i"), "");
  EXPECT_EQ(selected("if s[0] < a[i, 0]:\n  s[0] = a[i, 0]\n  w[i] = 1"), "");
  EXPECT_EQ(selected("if s[0] < a[i, 0]:\n  s[0] = a[i, 0]\n  w[0] = w[0] + 1"), "");
  EXPECT_EQ(selected("if s[0] == a[i, 0]:\n  s[0] = a[i, 0]"), "");
  EXPECT_EQ(selected("if s[0] < s[i]:\n  s[0] = s[i]"), "");
}

}  // namespace
}  // namespace kw
