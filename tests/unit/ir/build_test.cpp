// Constructors of nodes: folding that never changes a result, depth and its limit, and the release of long
// chains.
#include "ir/build.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/diagnostic.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Expr variable(DType t = DType::i64) {
  Sym x = make_sym(SymKind::param, t, "x");
  return kw::ref(x);
}
Code code_of(const std::function<void()> &f) {
  try {
    f();
  } catch (const CompileError &error) {
    return error.found()[0].code;
  }
  return Code::W101;  // nothing was thrown
}

TEST(Build, constants_fold_by_the_scalar_rules) {
  EXPECT_EQ(as_int(binary(BinOp::floor_div, const_int(-7), const_int(2))), -4);
  EXPECT_EQ(as_int(add(const_int(INT64_MAX), const_int(1))), INT64_MIN);
  EXPECT_EQ(as_int(binary(BinOp::lt, const_int(1), const_int(2))), 1);
  EXPECT_EQ(as_const(cast(DType::f32, const_int(3))), from_float(3));
  EXPECT_EQ(as_const(unary(UnOp::neg, const_float(DType::f64, 0))), from_double(DType::f64, -0.0));
  EXPECT_EQ(as_const(call(Fn::sqrt, {const_float(DType::f64, 2.25)})), from_double(DType::f64, 1.5));
  EXPECT_TRUE(as<Call>(call(Fn::exp, {const_float(DType::f64, 1)})));  // has no exact meaning
}

TEST(Build, a_constant_of_a_float_type_is_no_integer) {
  EXPECT_EQ(as_int(const_float(DType::f64, 2)), std::nullopt);
  EXPECT_EQ(as_int(variable()), std::nullopt);
  EXPECT_EQ(as_int(constant({DType::i8, 0xFF})), -1);
  EXPECT_EQ(as_int(constant({DType::u8, 0xFF})), 255);
  EXPECT_EQ(as_int(const_bool(true)), 1);
}

TEST(Build, integer_identities_return_the_operand_itself) {
  Expr x = variable();
  EXPECT_EQ(add(x, const_int(0)).p, x.p);
  EXPECT_EQ(add(const_int(0), x).p, x.p);
  EXPECT_EQ(sub(x, const_int(0)).p, x.p);
  EXPECT_EQ(mul(x, const_int(1)).p, x.p);
  EXPECT_EQ(mul(const_int(1), x).p, x.p);
  EXPECT_TRUE(as<Binary>(sub(const_int(0), x)));
}

TEST(Build, float_identities_are_never_folded) {
  Expr x = variable(DType::f64), zero = const_float(DType::f64, 0), one = const_float(DType::f64, 1);
  for (BinOp op : {BinOp::add, BinOp::sub, BinOp::mul}) {
    EXPECT_TRUE(as<Binary>(binary(op, x, zero)));  // x + 0.0 is 0.0 for x = -0.0
    EXPECT_TRUE(as<Binary>(binary(op, zero, x)));
    EXPECT_TRUE(as<Binary>(binary(op, x, one)));
    EXPECT_TRUE(as<Binary>(binary(op, one, x)));
  }
  EXPECT_TRUE(as<Binary>(binary(BinOp::eq, x, x)));  // false for NaN
}

TEST(Build, lazy_operators_fold_by_their_first_operand_only) {
  Expr b = variable(DType::b1), t = const_bool(true), f = const_bool(false);
  EXPECT_EQ(logic(true, t, b).p, b.p);
  EXPECT_EQ(logic(true, f, b).p, f.p);
  EXPECT_EQ(logic(false, t, b).p, t.p);
  EXPECT_EQ(logic(false, f, b).p, b.p);
  EXPECT_TRUE(as<Logic>(logic(true, b, f)));
  Expr x = variable(), y = variable();
  EXPECT_EQ(select(t, x, y).p, x.p);
  EXPECT_EQ(select(f, x, y).p, y.p);
  EXPECT_TRUE(as<Select>(select(b, x, y)));
}

TEST(Build, result_types) {
  Expr x = variable(DType::f32), y = variable(DType::f32);
  EXPECT_EQ(binary(BinOp::add, x, y).dtype(), DType::f32);
  EXPECT_EQ(binary(BinOp::le, x, y).dtype(), DType::b1);
  EXPECT_EQ(cast(DType::f32, x).p, x.p);
  EXPECT_EQ(cast(DType::i64, x).dtype(), DType::i64);
  EXPECT_EQ(call(Fn::isnan, {x}).dtype(), DType::b1);
}

TEST(Build, mixed_types_are_internal_errors) {
  Expr i = variable(DType::i64), f = variable(DType::f32), b = variable(DType::b1);
  EXPECT_EQ(code_of([&] { binary(BinOp::add, i, f); }), Code::E503);
  EXPECT_EQ(code_of([&] { logic(true, b, i); }), Code::E503);
  EXPECT_EQ(code_of([&] { select(i, f, f); }), Code::E503);
  EXPECT_EQ(code_of([&] { select(b, i, f); }), Code::E503);
  Buf buf = make_buf(make_sym(SymKind::buffer, DType::f32, "c"), {}, Space::registers);
  EXPECT_EQ(code_of([&] { store(buf, {}, i); }), Code::E503);
}

TEST(Build, seq_flattens_drops_absent_items_and_keeps_one_as_itself) {
  Stmt jump = make_stmt({}, Jump{JumpKind::break_loop});
  EXPECT_EQ(seq({jump}).p, jump.p);
  EXPECT_EQ(seq({{}, jump, {}}).p, jump.p);
  Stmt inner = seq({jump, jump}), outer = seq({inner, jump});
  ASSERT_TRUE(as<Seq>(outer));
  EXPECT_EQ(as<Seq>(outer)->items.size(), 3u);
  ASSERT_TRUE(as<Seq>(seq({})));
  EXPECT_TRUE(as<Seq>(seq({}))->items.empty());
}

TEST(BuildDepth, counts_the_deepest_way_down) {
  Expr x = variable(), e = add(mul(x, x), x);
  EXPECT_EQ(x->depth, 1);
  EXPECT_EQ(e->depth, 3);
  Buf buf = make_buf(make_sym(SymKind::buffer, DType::i64, "c"), {const_int(4)}, Space::stack);
  EXPECT_EQ(store(buf, {x}, e)->depth, 4);
  EXPECT_EQ(load(buf, {e})->depth, 4);
  Stmt loop = for_loop({make_sym(SymKind::iter, DType::i64, "i"),
                        x,
                        x,
                        1,
                        ForKind::serial,
                        Hint::none,
                        {},
                        store(buf, {x}, e)});
  EXPECT_EQ(loop->depth, 5);
}

TEST(BuildDepth, lets_allocs_and_sequences_add_nothing) {
  Stmt jump = make_stmt({}, Jump{JumpKind::break_loop});
  Stmt s = jump;
  Buf buf = make_buf(make_sym(SymKind::buffer, DType::i64, "c"), {}, Space::registers);
  for (int i = 0; i < 5000; ++i) {
    s = let(make_sym(SymKind::local, DType::i64, "t"), const_int(1), s);
    s = alloc(buf, Fill::none, s);
    s = make_stmt({}, Seq{{jump, s}});
  }
  EXPECT_EQ(s->depth, 1);
}

TEST(BuildDepth, expressions_above_the_limit_are_e105) {
  Expr x = variable(), e = x;
  for (uint32_t depth = 2; depth <= max_depth; ++depth) e = add(e, x);
  EXPECT_EQ(e->depth, max_depth);
  EXPECT_EQ(code_of([&] { add(e, x); }), Code::E105);
  EXPECT_EQ(code_of([&] { unary(UnOp::neg, e); }), Code::E105);
}

TEST(BuildDepth, loops_above_the_limit_are_e105_with_their_place) {
  Stmt s = make_stmt({}, Jump{JumpKind::break_loop});
  Expr x = variable();
  auto nest = [&](Loc loc) {
    return for_loop({make_sym(SymKind::iter, DType::i64, "i"), x, x, 1, ForKind::serial, Hint::none, {}, s},
                    loc);
  };
  for (uint32_t depth = 2; depth <= max_depth; ++depth) s = nest({});
  try {
    nest({3, 10, 20});
    FAIL() << "depth 1,001 was accepted";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.found()[0].code, Code::E105);
    EXPECT_EQ(error.found()[0].loc, (Loc{3, 10, 20}));
  }
}

/// A chain whose release by recursion would need tens of megabytes of stack.
TEST(BuildRelease, a_chain_of_300000_links_needs_no_stack) {
  Stmt jump = make_stmt({}, Jump{JumpKind::break_loop});
  Buf buf = make_buf(make_sym(SymKind::buffer, DType::i64, "c"), {}, Space::registers);
  std::weak_ptr<const StmtNode> innermost = jump.p;
  bool released = false;
  unit::run_on_stack(512 << 10, [&] {
    Stmt s = std::exchange(jump, {});
    Stmt other = make_stmt({}, Jump{JumpKind::continue_loop});
    for (int i = 0; i < 100000; ++i) {
      s = let(make_sym(SymKind::local, DType::i64, "t"), const_int(i), s);
      s = alloc(buf, Fill::none, s);
      s = make_stmt({}, Seq{{other, s}});
    }
    s = {};
    released = true;
  });
  EXPECT_TRUE(released);
  EXPECT_TRUE(innermost.expired());
}

TEST(BuildRelease, a_shared_tail_survives_the_chain_that_used_it) {
  Stmt tail =
      let(make_sym(SymKind::local, DType::i64, "t"), const_int(7), make_stmt({}, Jump{JumpKind::break_loop}));
  Stmt chain = tail;
  for (int i = 0; i < 1000; ++i) chain = let(make_sym(SymKind::local, DType::i64, "t"), const_int(i), chain);
  chain = {};
  ASSERT_TRUE(as<Let>(tail));
  EXPECT_TRUE(as<Jump>(as<Let>(tail)->body));
  EXPECT_EQ(as_int(as<Let>(tail)->value), 7);
}

}  // namespace
}  // namespace kw
