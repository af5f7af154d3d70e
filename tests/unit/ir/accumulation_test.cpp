// Accumulating stores and the loops that they reduce over.
#include "ir/accumulation.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_body(std::string_view body) {
  return unit::ir(cat("def f(a: buf(f32, (n, m)), s: inout(f32, (n,))):\n  fp('default')\n  dims(n, m)\n",
                      body, "  return s\n"));
}

Store the_store(const Func &f) {
  Store out{};
  walk(f.body, [&](const Store &n, const Stmt &) { out = n; });
  return out;
}

std::string term_of(std::string_view statement) {
  Func f = with_body(cat("  ", statement, "\n"));
  Accumulation found = accumulation_of(the_store(f));
  return found.is_sum_or_product() ? cat(op_text(found.op), " ", print(found.term)) : "none";
}

TEST(Accumulation, recognises_sums_products_and_negated_terms) {
  EXPECT_EQ(term_of("s[0] = s[0] + a[0, 1]"), "+ a[0, 1]");
  EXPECT_EQ(term_of("s[0] = a[0, 1] + s[0]"), "+ a[0, 1]");
  EXPECT_EQ(term_of("s[0] = s[0] - a[0, 1]"), "- a[0, 1]");
  EXPECT_EQ(term_of("s[0] = s[0] * a[0, 1]"), "* a[0, 1]");
  EXPECT_EQ(term_of("s[0] = a[0, 1] * s[0]"), "* a[0, 1]");
}

TEST(Accumulation, nothing_else_is_one) {
  for (std::string_view statement :
       {"s[0] = a[0, 1] - s[0]", "s[0] = s[1] + a[0, 1]", "s[0] = s[0] / a[0, 1]", "s[0] = a[0, 1]",
        "s[0] = (s[0] + a[0, 1]) + a[0, 2]", "s[0] = max(s[0], a[0, 1])"})
    EXPECT_EQ(term_of(statement), "none") << statement;
}

TEST(Band, is_the_loops_that_the_mark_names_innermost_first) {
  Func f = with_body(
      "  for r in serial(0, 2, 1):\n    for i in serial(0, n, 1):\n      for k in serial(0, m, 1):\n"
      "        s[0] = (s[0] + a[i, k]) @ lanes(i, k)\n        s[1] = s[1] + a[i, k]\n");
  std::string out;
  for_each_store(f.body, [&](const Stmt &, const Store &n, const std::vector<const For *> &loops) {
    for (const For *loop : band_of(n, loops)) out += loop->iter->name;
    out += ".";
  });
  EXPECT_EQ(out, "ki..");
}

TEST(Mentions, looks_below_every_operator) {
  Sym x = make_sym(SymKind::param, DType::i64, "x"), y = make_sym(SymKind::param, DType::i64, "y");
  Expr e = select(binary(BinOp::lt, kw::ref(x), const_int(3)), const_int(1), const_int(2));
  EXPECT_TRUE(mentions(e, x));
  EXPECT_FALSE(mentions(e, y));
  EXPECT_TRUE(mentions(std::vector<Expr>{const_int(1), e}, x));
}

}  // namespace
}  // namespace kw
