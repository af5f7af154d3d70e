// Affine forms: construction, cancellation, atoms, and refusal of what could wrap.
#include "analysis/affine.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/print.h"
#include "support/text.h"

namespace kw {
namespace {

Expr symbol(const char *name) {
  static std::vector<Sym> known;
  for (const Sym &s : known)
    if (s->name == name) return kw::ref(s);
  known.push_back(make_sym(SymKind::extent, DType::i64, name));
  return kw::ref(known.back());
}

std::string shown(const std::optional<Affine> &a) {
  if (!a) return "none";
  std::string out;
  for (const AffineTerm &t : a->terms) out += cat(t.coefficient, "*", print(t.atom), " ");
  return out + cat(a->constant);
}

const Expr n = symbol("n"), m = symbol("m"), i = symbol("i");

TEST(Affine, collects_terms_and_constants) {
  EXPECT_EQ(shown(affine_of(const_int(-7))), "-7");
  EXPECT_EQ(shown(affine_of(n)), "1*n 0");
  EXPECT_EQ(shown(affine_of(add(mul(const_int(3), i), sub(n, const_int(2))))), "3*i 1*n -2");
  EXPECT_EQ(shown(affine_of(mul(add(i, const_int(1)), const_int(-2)))), "-2*i -2");
  EXPECT_EQ(shown(affine_of(unary(UnOp::neg, add(i, const_int(4))))), "-1*i -4");
}

TEST(Affine, equal_atoms_merge_and_cancel) {
  EXPECT_EQ(shown(affine_of(add(i, add(n, i)))), "2*i 1*n 0");
  EXPECT_EQ(shown(affine_of(sub(add(i, n), i))), "1*n 0");
  EXPECT_EQ(shown(affine_of(sub(n, n))), "0");
  EXPECT_TRUE(affine_of(sub(n, n))->is_constant());
  Expr quotient = binary(BinOp::floor_div, n, const_int(2)), same = binary(BinOp::floor_div, n, const_int(2));
  EXPECT_EQ(shown(affine_of(add(quotient, same))), "2*n // 2 0");
}

TEST(Affine, what_is_not_affine_is_an_atom) {
  EXPECT_EQ(shown(affine_of(mul(n, m))), "1*n * m 0");
  EXPECT_EQ(shown(affine_of(add(binary(BinOp::min, n, m), const_int(1)))), "1*min(n, m) 1");
  EXPECT_EQ(shown(affine_of(mul(const_int(2), binary(BinOp::floor_mod, i, const_int(4))))), "2*i % 4 0");
  Expr narrow = cast(DType::i64, kw::ref(make_sym(SymKind::param, DType::i32, "p")));
  EXPECT_EQ(shown(affine_of(narrow)), "1*cast(i64, p) 0");
}

TEST(Affine, only_i64_has_a_form) {
  EXPECT_EQ(shown(affine_of(constant({DType::i32, 3}))), "none");
  EXPECT_EQ(shown(affine_of(binary(BinOp::lt, n, m))), "none");
}

TEST(Affine, what_could_wrap_has_no_form) {
  EXPECT_EQ(shown(affine_of(const_int(INT64_MAX))), "none");
  EXPECT_EQ(shown(affine_of(mul(n, const_int(int64_t{1} << 40)))), "none");
  EXPECT_EQ(shown(affine_of(mul(n, const_int(1 << 15)))), "32768*n 0");
  EXPECT_EQ(shown(affine_of(mul(n, const_int((1 << 15) + 1)))), "none");
  EXPECT_EQ(shown(affine_of(add(n, const_int((int64_t{1} << 61) + 1)))), "none");
  Expr most = mul(n, const_int((1 << 15) - 1));
  EXPECT_EQ(shown(affine_of(add(most, m))), "32767*n 1*m 0");
  EXPECT_EQ(shown(affine_of(add(most, sub(i, m)))), "none");  // all coefficients together count
  Expr grown = n;
  for (int k = 0; k < 20; ++k) grown = add(grown, grown);
  EXPECT_EQ(shown(affine_of(grown)), "none");
}

TEST(AddScaled, adds_multiples_and_refuses_overflow) {
  Affine a = *affine_of(add(i, const_int(1))), b = *affine_of(add(mul(const_int(2), i), n));
  EXPECT_EQ(shown(add_scaled(a, b, 3)), "7*i 3*n 1");
  EXPECT_EQ(shown(add_scaled(b, a, -2)), "1*n -2");
  EXPECT_EQ(shown(add_scaled(a, b, 1 << 20)), "none");
  EXPECT_EQ(shown(add_scaled({{}, INT64_MAX}, {{}, 1}, 1)), "none");
  EXPECT_EQ(shown(add_scaled({{}, 0}, {{}, INT64_MIN}, -1)), "none");
}

TEST(Substitute, replaces_one_atom) {
  Affine a = *affine_of(add(mul(const_int(-3), i), n));
  EXPECT_EQ(shown(substitute(a, 0, *affine_of(sub(m, const_int(1))))), "1*n -3*m 3");
  EXPECT_EQ(shown(substitute(a, 1, {{}, 5})), "-3*i 5");
}

TEST(ToExpr, gives_the_form_back) {
  for (const Expr &e :
       {add(mul(const_int(3), i), sub(n, const_int(2))), const_int(-4), n, mul(const_int(-1), m)}) {
    Affine a = *affine_of(e);
    EXPECT_EQ(shown(affine_of(to_expr(a))), shown(a));
  }
  EXPECT_EQ(print(to_expr({{}, 3})), "3");
}

}  // namespace
}  // namespace kw
