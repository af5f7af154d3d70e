// What is known to stay far from the ends of 64 bits, by name, by the forms of ranges and by facts.
#include "analysis/nest/value_bounds.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace kw {
namespace {

struct Limits {
  Sym n = make_sym(SymKind::extent, DType::i64, "n"), i = make_sym(SymKind::iter, DType::i64, "i"),
      k = make_sym(SymKind::param, DType::i64, "k"), m = make_sym(SymKind::local, DType::i64, "m");
  Func f;
  NestScope scope;

  std::string of(const Expr &e) const {
    ValueBounds limits(f, scope);
    return std::string(limits.bounded(e, false) ? "below " : "") + (limits.bounded(e, true) ? "above" : "");
  }
};

TEST(ValueBounds, sizes_and_iterators_between_them_are_bounded_on_both_sides) {
  Limits l;
  EXPECT_EQ(l.of(kw::ref(l.i)), "");
  For loop{l.i, const_int(0), kw::ref(l.n), 1, ForKind::serial, Hint::none, {}, seq({})};
  l.scope.push_back({&loop});
  EXPECT_EQ(l.of(add(kw::ref(l.n), const_int(-1))), "below above");
  EXPECT_EQ(l.of(sub(kw::ref(l.n), mul(kw::ref(l.i), const_int(3)))), "below above");
  EXPECT_EQ(l.of(mul(kw::ref(l.n), const_int(4096))), "");
  EXPECT_EQ(l.of(const_int(int64_t{1} << 50)), "");
}

TEST(ValueBounds, an_argument_is_bounded_where_a_fact_ties_it_to_sizes) {
  Limits l;
  EXPECT_EQ(l.of(kw::ref(l.k)), "");
  l.f.facts.push_back(binary(BinOp::le, kw::ref(l.k), kw::ref(l.n)));
  EXPECT_EQ(l.of(kw::ref(l.k)), "above");
  EXPECT_EQ(l.of(sub(kw::ref(l.n), kw::ref(l.k))), "below ");
  l.f.facts.push_back(binary(BinOp::le, const_int(0), kw::ref(l.k)));
  EXPECT_EQ(l.of(kw::ref(l.k)), "below above");
}

TEST(ValueBounds, an_argument_that_is_the_size_of_a_result_is_bounded) {
  Limits l;
  Buf c = make_buf(make_sym(SymKind::buffer, DType::f32, "c"), {kw::ref(l.k)}, Space::param);
  l.f.params.push_back({c, {}, ParamMode::in});
  EXPECT_EQ(l.of(kw::ref(l.k)), "");
  l.f.params.back().mode = ParamMode::out;
  EXPECT_EQ(l.of(kw::ref(l.k)), "below above");
}

TEST(ValueBounds, a_fact_between_arguments_bounds_neither) {
  Limits l;
  Sym other = make_sym(SymKind::param, DType::i64, "q");
  l.f.facts.push_back(binary(BinOp::le, kw::ref(l.k), kw::ref(other)));
  EXPECT_EQ(l.of(kw::ref(l.k)), "");
}

TEST(ValueBounds, minima_quotients_and_locals_pass_on_what_they_are_made_of) {
  Limits l;
  EXPECT_EQ(l.of(binary(BinOp::min, kw::ref(l.n), kw::ref(l.k))), "above");
  EXPECT_EQ(l.of(binary(BinOp::max, kw::ref(l.n), kw::ref(l.k))), "below ");
  EXPECT_EQ(l.of(binary(BinOp::floor_div, kw::ref(l.n), const_int(2))), "below above");
  EXPECT_EQ(l.of(binary(BinOp::floor_div, kw::ref(l.n), kw::ref(l.k))), "");
  EXPECT_EQ(l.of(kw::ref(l.m)), "");
  For down{l.i, kw::ref(l.n), kw::ref(l.k), -1, ForKind::serial, Hint::none, {}, seq({})};
  l.scope.push_back({&down});
  EXPECT_EQ(l.of(kw::ref(l.i)), "above");
  l.scope.push_back({nullptr, l.m, binary(BinOp::floor_div, kw::ref(l.n), const_int(2)), true});
  EXPECT_EQ(l.of(add(kw::ref(l.m), kw::ref(l.n))), "below above");
}

}  // namespace
}  // namespace kw
