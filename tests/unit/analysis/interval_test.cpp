// Proofs of e >= 0 from loops, guards and clamps.
#include "analysis/interval.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/match.h"
#include "ir/print.h"
#include "support/text.h"

namespace kw {
namespace {

using Kind = Proof::Kind;

/// Extents n, m >= 1, a parameter p, loops i over range(n) and j over range(2, m).
struct Scene {
  Expr n = variable(SymKind::extent, "n"), m = variable(SymKind::extent, "m"),
       p = variable(SymKind::param, "p");
  Sym si = make_sym(SymKind::iter, DType::i64, "i"), sj = make_sym(SymKind::iter, DType::i64, "j");
  Expr i = kw::ref(si), j = kw::ref(sj);
  For loop_i{si, const_int(0), n, 1, ForKind::serial, Hint::none, {}, {}};
  For loop_j{sj, const_int(2), m, 1, ForKind::serial, Hint::none, {}, {}};
  BoundsContext context{true};

  Scene() { context.enter_loop(loop_i), context.enter_loop(loop_j); }
  static Expr variable(SymKind kind, const char *name) {
    Sym s = make_sym(kind, DType::i64, name);
    return kw::ref(s);
  }
  Proof nonnegative(const Expr &e) const { return context.nonnegative(*affine_of(e)); }
  /// "proved", "refuted", "unknown", or the fact under which it holds and what must be small for it.
  std::string outcome(const Expr &e) const {
    Proof proof = nonnegative(e);
    if (proof.kind == Kind::under_fact) {
      std::string out = proof.fact ? print(proof.fact) : "";
      for (const Expr &small : proof.small) out += cat(out.empty() ? "" : " ", "small ", print(small));
      return out;
    }
    return proof.kind == Kind::proved ? "proved" : proof.kind == Kind::refuted ? "refuted" : "unknown";
  }
};

Expr c(int64_t v) { return const_int(v); }
Expr lt(const Expr &a, const Expr &b) { return binary(BinOp::lt, a, b); }
Expr le(const Expr &a, const Expr &b) { return binary(BinOp::le, a, b); }

TEST(Interval, loops_bound_their_iterators) {
  Scene s;
  EXPECT_EQ(s.outcome(s.i), "proved");
  EXPECT_EQ(s.outcome(sub(sub(s.n, s.i), c(1))), "proved");
  EXPECT_EQ(s.outcome(sub(s.j, c(2))), "proved");
  EXPECT_EQ(s.outcome(sub(sub(s.m, s.j), c(1))), "proved");
  EXPECT_EQ(s.outcome(sub(s.j, c(3))), "refuted");
  EXPECT_EQ(s.outcome(sub(s.i, c(1))), "refuted");            // i = 0
  EXPECT_EQ(s.outcome(sub(s.n, add(s.i, c(2)))), "refuted");  // i = n - 1 reaches n
  EXPECT_EQ(s.outcome(add(s.i, mul(c(3), s.j))), "proved");
}

TEST(Interval, a_guard_may_ask_for_less_than_the_last_iteration) {
  Scene s;
  Expr next = add(s.i, c(1)), room = sub(sub(s.m, next), c(1));  // m - 1 - (i + 1)
  EXPECT_EQ(s.outcome(room), print(le(add(s.n, c(1)), s.m)));
  size_t guards = s.context.assume(lt(next, s.n), true);
  EXPECT_EQ(s.outcome(room), print(le(s.n, s.m)));
  guards += s.context.assume(lt(s.i, sub(s.p, c(9))), true);  // says nothing of n
  EXPECT_EQ(s.outcome(room), print(le(s.n, s.m)));
  s.context.drop(guards);
}

TEST(Interval, extents_are_at_least_one_when_assumed) {
  Scene s;
  EXPECT_EQ(s.outcome(sub(s.n, c(1))), "proved");
  EXPECT_EQ(s.outcome(sub(add(s.n, s.m), c(2))), "proved");
  BoundsContext none(false);
  EXPECT_EQ(none.nonnegative(*affine_of(s.n)).kind, Kind::proved);
  EXPECT_EQ(none.nonnegative(*affine_of(sub(s.n, c(1)))).kind, Kind::under_fact);
}

TEST(Interval, what_depends_on_extents_and_parameters_becomes_a_fact) {
  Scene s;
  EXPECT_EQ(s.outcome(sub(sub(s.m, s.i), c(1))), "n <= m");
  EXPECT_EQ(s.outcome(sub(s.n, s.p)), "p <= n");
  EXPECT_EQ(s.outcome(sub(s.p, mul(c(2), s.n))), "(n * 2) <= p");
  EXPECT_EQ(s.outcome(sub(s.n, c(5))), "5 <= n");
}

TEST(Interval, refutation_needs_every_extent) {
  Scene s;
  EXPECT_EQ(s.outcome(c(-1)), "refuted");
  EXPECT_EQ(s.outcome(sub(c(0), s.n)), "refuted");
  EXPECT_EQ(s.outcome(sub(c(1), s.n)), "n <= 1");
  EXPECT_NE(s.outcome(sub(s.m, add(s.n, c(9)))), "refuted");
  EXPECT_NE(s.outcome(sub(s.p, c(100))), "refuted");
}

TEST(Interval, a_step_that_may_jump_over_the_end_refutes_nothing) {
  Scene s;
  For by_two = s.loop_i;
  by_two.step = 2;
  BoundsContext context(true);
  context.enter_loop(by_two);
  EXPECT_EQ(context.nonnegative(*affine_of(sub(sub(s.n, s.i), c(1)))).kind, Kind::proved);
  EXPECT_NE(context.nonnegative(*affine_of(sub(s.n, add(s.i, c(2))))).kind, Kind::refuted);
}

TEST(Interval, loops_may_run_down) {
  Scene s;
  For down{s.si, sub(s.n, c(1)), c(-1), -1, ForKind::serial, Hint::none, {}, {}};
  BoundsContext context(true);
  context.enter_loop(down);
  EXPECT_EQ(context.nonnegative(*affine_of(s.i)).kind, Kind::proved);
  EXPECT_EQ(context.nonnegative(*affine_of(sub(sub(s.n, s.i), c(1)))).kind, Kind::proved);
  EXPECT_EQ(context.nonnegative(*affine_of(sub(s.i, c(1)))).kind, Kind::refuted);
}

TEST(Interval, inner_loops_may_depend_on_outer_ones) {
  Scene s;
  Sym sk = make_sym(SymKind::iter, DType::i64, "k");
  For triangle{sk, s.i, s.n, 1, ForKind::serial, Hint::none, {}, {}};
  s.context.enter_loop(triangle);
  Expr k = kw::ref(sk);
  EXPECT_EQ(s.outcome(sub(k, s.i)), "proved");
  EXPECT_EQ(s.outcome(k), "proved");
  EXPECT_EQ(s.outcome(sub(sub(s.n, k), c(1))), "proved");
}

TEST(Interval, guards_are_used_inside_their_branch_only) {
  Scene s;
  Expr goal = sub(s.n, add(s.i, c(2)));  // i + 1 < n
  size_t assumed = s.context.assume(lt(add(s.i, c(1)), s.n), true);
  EXPECT_EQ(s.outcome(goal), "proved");
  s.context.drop(assumed);
  EXPECT_EQ(s.outcome(goal), "refuted");
  assumed = s.context.assume(le(s.n, add(s.i, c(1))), false);  // the else branch of n <= i + 1
  EXPECT_EQ(s.outcome(goal), "proved");
  s.context.drop(assumed);
  s.context.assume(le(s.p, c(7)), true);
  EXPECT_EQ(s.outcome(sub(c(7), s.p)), "proved");
  EXPECT_EQ(s.outcome(sub(c(6), s.p)), "p <= 6");
}

TEST(Interval, guards_combine_by_logic) {
  Scene s;
  Expr low = le(c(0), s.p), high = lt(s.p, s.n);
  size_t assumed = s.context.assume(logic(true, low, high), true);
  EXPECT_EQ(s.outcome(s.p), "proved");
  EXPECT_EQ(s.outcome(sub(sub(s.n, s.p), c(1))), "proved");
  s.context.drop(assumed);
  assumed = s.context.assume(logic(false, low, high), true);  // only one of them holds
  EXPECT_EQ(s.outcome(s.p), "0 <= p");
  s.context.drop(assumed);
  assumed = s.context.assume(logic(false, lt(s.p, c(0)), le(s.n, s.p)), false);
  EXPECT_EQ(s.outcome(s.p), "proved");
  EXPECT_EQ(s.outcome(sub(sub(s.n, s.p), c(1))), "proved");
  s.context.drop(assumed);
  assumed = s.context.assume(unary(UnOp::logical_not, lt(s.p, c(0))), true);
  EXPECT_EQ(s.outcome(s.p), "proved");
  s.context.drop(assumed);
  s.context.assume(binary(BinOp::eq, s.p, c(3)), true);
  EXPECT_EQ(s.outcome(sub(s.p, c(3))), "proved");
  EXPECT_EQ(s.outcome(sub(c(3), s.p)), "proved");
}

TEST(Interval, clamps_bound_what_they_clamp) {
  Scene s;
  Expr wild = binary(BinOp::floor_mod, mul(s.i, s.j), s.p);  // nothing is known of it
  Expr clamped = binary(BinOp::max, binary(BinOp::min, wild, sub(s.n, c(1))), c(0));
  EXPECT_EQ(s.outcome(clamped), "proved");
  EXPECT_EQ(s.outcome(sub(sub(s.n, clamped), c(1))), "proved");
  EXPECT_EQ(s.outcome(binary(BinOp::max, wild, c(0))), "proved");
  EXPECT_EQ(s.outcome(binary(BinOp::min, wild, c(0))), "unknown");
  EXPECT_EQ(s.outcome(binary(BinOp::min, s.i, s.j)), "proved");
  EXPECT_EQ(s.outcome(sub(s.n, binary(BinOp::min, wild, s.n))), "proved");
}

TEST(Interval, division_and_remainder_by_constants) {
  Scene s;
  Expr quotient = binary(BinOp::floor_div, s.i, c(2)), remainder = binary(BinOp::floor_mod, s.i, c(4));
  EXPECT_EQ(s.outcome(quotient), "proved");
  EXPECT_EQ(s.outcome(remainder), "proved");
  EXPECT_EQ(s.outcome(sub(c(3), remainder)), "proved");
  EXPECT_EQ(s.outcome(sub(c(2), remainder)), "unknown");  // not refuted: n may be 1
  EXPECT_EQ(s.outcome(binary(BinOp::floor_div, sub(s.i, c(1)), c(2))), "unknown");
  EXPECT_EQ(s.outcome(binary(BinOp::floor_mod, s.i, c(-4))), "unknown");
  Sym sk = make_sym(SymKind::iter, DType::i64, "k");
  For half{sk, c(0), binary(BinOp::floor_div, s.n, c(2)), 1, ForKind::serial, Hint::none, {}, {}};
  s.context.enter_loop(half);
  EXPECT_NE(s.outcome(sub(s.n, add(mul(c(2), kw::ref(sk)), c(2)))), "refuted");
}

TEST(Interval, selects_hold_when_both_sides_do) {
  Scene s;
  Expr cond = lt(s.p, c(3));
  EXPECT_EQ(s.outcome(select(cond, s.i, s.j)), "proved");
  EXPECT_NE(s.outcome(select(cond, s.i, sub(s.j, c(3)))), "proved");
  EXPECT_NE(s.outcome(select(cond, sub(s.i, c(1)), c(5))), "refuted");
}

TEST(Interval, ends_of_loops_that_may_wrap_bound_nothing) {
  Scene s;
  Expr q = Scene::variable(SymKind::local, "q"), k;
  auto inside = [&](const Expr &lo, const Expr &hi, const std::vector<Expr> &guards) {
    Sym sk = make_sym(SymKind::iter, DType::i64, "k");
    For loop{sk, lo, hi, 1, ForKind::serial, Hint::none, {}, {}};
    size_t assumed = 0;
    for (const Expr &g : guards) assumed += s.context.assume(g, true);
    s.context.enter_loop(loop);
    std::string out = cat(s.outcome(kw::ref(sk)), ", ", s.outcome(sub(sub(s.n, kw::ref(sk)), c(1))));
    s.context.leave_loop();
    s.context.drop(assumed);
    return out;
  };
  EXPECT_EQ(inside(q, s.n, {le(c(0), q)}), "proved, proved");
  EXPECT_EQ(inside(add(q, c(1)), s.n, {le(c(0), q)}), "unknown, proved");  // q may be the largest number
  EXPECT_EQ(inside(add(q, c(1)), s.n, {le(c(0), q), lt(q, s.m)}), "proved, proved");
  EXPECT_EQ(inside(sub(q, c(1)), s.n, {le(c(1), q)}), "proved, proved");
  EXPECT_EQ(inside(c(0), sub(q, c(1)), {le(q, s.n)}), "proved, unknown");  // q may be the smallest one
  EXPECT_EQ(inside(c(0), sub(q, c(1)), {le(q, s.n), le(s.m, q)}), "proved, proved");
  EXPECT_EQ(inside(add(s.p, c(1)), s.n, {le(c(0), s.p)}), "small p, proved");
  EXPECT_EQ(inside(c(0), add(s.p, c(1)), {}), "proved, (p + 1) <= n small p");
}

TEST(Interval, operands_that_may_wrap_bound_nothing) {
  Scene s;
  Expr q = Scene::variable(SymKind::local, "q"), far = add(q, c(1000000));
  Expr clamped = binary(BinOp::min, far, sub(s.n, c(1)));
  size_t guards = s.context.assume(le(c(0), q), true);
  EXPECT_EQ(s.outcome(clamped), "unknown");
  EXPECT_EQ(s.outcome(binary(BinOp::floor_div, far, c(4))), "unknown");
  EXPECT_EQ(s.outcome(select(lt(s.i, s.m), far, c(0))), "unknown");
  EXPECT_EQ(s.outcome(binary(BinOp::max, far, c(-1))), "unknown");
  EXPECT_EQ(s.outcome(binary(BinOp::max, far, c(0))), "proved");
  guards += s.context.assume(le(q, s.m), true);
  EXPECT_EQ(s.outcome(clamped), "proved");
  EXPECT_EQ(s.outcome(select(lt(s.i, s.m), far, c(0))), "proved");
  s.context.drop(guards);
  // 0 <= p says nothing of the end of the loop at which the operand wraps
  Expr back = sub(sub(s.n, c(1)), add(mul(c(3), s.i), s.p));
  EXPECT_EQ(s.outcome(sub(sub(s.n, c(1)), binary(BinOp::max, back, c(0)))), "0 <= p small p");
}

TEST(Interval, loaded_values_are_unknown) {
  Scene s;
  Buf idx = make_buf(make_sym(SymKind::buffer, DType::i64, "idx"), {s.n}, Space::param);
  Expr loaded = load(idx, {s.i});
  EXPECT_EQ(s.outcome(loaded), "unknown");
  EXPECT_EQ(s.outcome(sub(loaded, loaded)), "proved");
  EXPECT_EQ(s.outcome(binary(BinOp::max, loaded, c(0))), "proved");
}

TEST(Interval, a_remainder_is_below_a_divisor_that_is_surely_positive) {
  Scene s;
  auto mod = [&](const Expr &d) { return binary(BinOp::floor_mod, sub(mul(s.i, s.p), c(7)), d); };
  auto room = [&](const Expr &d) { return sub(sub(d, mod(d)), c(1)); };
  Expr sum = sub(add(s.n, s.m), c(1));
  for (const Expr &divisor : {s.n, sum, add(mul(c(2), s.m), c(3)), c(40'000)}) {
    EXPECT_EQ(s.outcome(mod(divisor)), "proved") << print(divisor);
    EXPECT_EQ(s.outcome(room(divisor)), "proved") << print(divisor);
    EXPECT_NE(s.outcome(sub(room(divisor), c(1))), "proved") << print(divisor);
  }
  for (const Expr &divisor : {s.p, sub(s.n, c(1)), sub(s.n, s.m), c(0), c(-3)}) {
    EXPECT_NE(s.outcome(mod(divisor)), "proved") << print(divisor);
    EXPECT_NE(s.outcome(room(divisor)), "proved") << print(divisor);
  }
  BoundsContext none(false);  // where n is 0, so is the remainder
  EXPECT_NE(none.nonnegative(*affine_of(room(s.n))).kind, Kind::proved);
}

TEST(Interval, upper_bounds_replace_iterators) {
  Scene s;
  EXPECT_EQ(print(s.context.upper_bound(add(s.i, c(1)))), "n");
  EXPECT_EQ(print(s.context.upper_bound(s.p)), "p");
  EXPECT_FALSE(s.context.upper_bound(
      load(make_buf(make_sym(SymKind::buffer, DType::i64, "x"), {s.n}, Space::param), {s.i})));
}

TEST(Interval, a_place_surely_runs_when_every_loop_does) {
  Scene s;
  BoundsContext context(true);
  context.enter_loop(s.loop_i);
  EXPECT_TRUE(context.surely_runs());
  context.enter_loop(s.loop_j);
  EXPECT_FALSE(context.surely_runs());
  context.leave_loop();
  EXPECT_TRUE(context.surely_runs());
  For empty{s.sj, c(0), c(0), 1, ForKind::serial, Hint::none, {}, {}};
  context.enter_loop(empty);
  EXPECT_FALSE(context.surely_runs());
}

}  // namespace
}  // namespace kw
