// Traversal: parents before children, shared nodes once, long chains without recursion.
#include "ir/walk.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Sym symbol(const char *name) { return make_sym(SymKind::param, DType::i64, name); }
Expr variable(const char *name) {
  Sym s = symbol(name);
  return kw::ref(s);
}

TEST(Walk, visits_parents_before_children_from_left_to_right) {
  Sym x = symbol("x"), y = symbol("y");
  std::string seen;
  walk(
      add(mul(kw::ref(x), kw::ref(y)), const_int(3)),
      [&](const Binary &n, const Expr &) { seen += n.op == BinOp::add ? '+' : '*'; },
      [&](const Ref &n, const Expr &) { seen += n.sym->name; },
      [&](const Const &, const Expr &) { seen += '3'; });
  EXPECT_EQ(seen, "+*xy3");
}

TEST(Walk, reaches_every_expression_of_every_statement) {
  Func f = unit::ir(R"(def f(a: inout(i64, (n,)), p: weak(i64)):
  fp('default')
  dims(n)
  site('E303', a, 0)
  t = alloc(i64, (), 'registers')
  t[()] = 1
  for i in serial(2, n + 3, 1):
    if i < 4:
      a[i + 5] = 6 if p < 7 else 8
    else:
      check(i < 9, site=0)
  while t[()] < 10 and not t[()] == 11:
    u: i64 = min(a[12], 13)
    t[()] = u
    break
  return a
)");
  std::string seen;
  walk(f.body, [&](const Const &n, const Expr &) { seen += std::to_string(n.bits) + " "; });
  EXPECT_EQ(seen, "1 2 3 4 5 7 6 8 9 10 11 12 13 ");
}

TEST(Walk, visits_shared_nodes_once) {
  Expr e = variable("x");
  for (int i = 0; i < 40; ++i) e = mul(e, e);  // as a tree, 2^40 leaves
  int products = 0, leaves = 0;
  walk(e, [&](const Binary &, const Expr &) { ++products; }, [&](const Ref &, const Expr &) { ++leaves; });
  EXPECT_EQ(products, 40);
  EXPECT_EQ(leaves, 1);
}

TEST(Walk, visits_shared_statements_once) {
  Stmt s = make_stmt({}, Jump{JumpKind::break_loop});
  for (int i = 0; i < 40; ++i) s = make_stmt({}, If{const_bool(true), s, s});
  int branches = 0, jumps = 0;
  walk(s, [&](const If &, const Stmt &) { ++branches; }, [&](const Jump &, const Stmt &) { ++jumps; });
  EXPECT_EQ(branches, 40);
  EXPECT_EQ(jumps, 1);
}

TEST(Walk, follows_long_chains_on_a_small_stack) {
  int lets = 0;
  unit::run_on_stack(512 << 10, [&] {
    Stmt s = make_stmt({}, Jump{JumpKind::break_loop});
    for (int i = 0; i < 300000; ++i) s = let(symbol("t"), const_int(i), s);
    walk(s, [&](const Let &, const Stmt &) { ++lets; });
  });
  EXPECT_EQ(lets, 300000);
}

TEST(Walk, an_absent_root_is_nothing_to_visit) {
  walk(Stmt{}, [&](const Jump &, const Stmt &) { FAIL(); });
  walk(Expr{}, [&](const Const &, const Expr &) { FAIL(); });
}

TEST(Walk, operands_that_may_not_be_evaluated_come_with_their_guard) {
  Expr a = kw::ref(make_sym(SymKind::param, DType::b1, "a")),
       b = kw::ref(make_sym(SymKind::param, DType::b1, "b"));
  auto guards = [](const Expr &e) {
    std::string out;
    for_each_guarded_operand(e, [&](const Expr &operand, const OperandGuard &guard) {
      if (const Ref *n = as<Ref>(operand)) out += n->sym->name;
      if (const Const *n = as<Const>(operand)) out += std::to_string(n->bits);
      if (guard.cond) out += guard.holds ? "+" : "-";
      if (guard.cond) out += as<Ref>(*guard.cond)->sym->name;
      out += ' ';
    });
    return out;
  };
  EXPECT_EQ(guards(make_expr(DType::b1, {}, Logic{true, a, b})), "a b+a ");
  EXPECT_EQ(guards(make_expr(DType::b1, {}, Logic{false, a, b})), "a b-a ");
  EXPECT_EQ(guards(select(a, const_int(1), const_int(2))), "a 1+a 2-a ");
  int certain = 0, all = 0;
  for_each_certain_operand(select(a, const_int(1), const_int(2)), [&](const Expr &) { ++certain; });
  for_each_operand(select(a, const_int(1), const_int(2)), [&](const Expr &) { ++all; });
  EXPECT_EQ(certain, 1);
  EXPECT_EQ(all, 3);
}

TEST(Walk, a_block_is_met_statement_by_statement_without_those_below_them) {
  auto jump = [] { return make_stmt({}, Jump{JumpKind::break_loop}); };
  Stmt inner = make_stmt({}, If{const_bool(true), jump(), jump()});
  Stmt root = make_stmt({}, Seq{{inner, let(symbol("t"), const_int(1), jump())}});
  std::string kinds, below;
  for_each_in_block(root, [&](const Stmt &s) {
    kinds += as<If>(s) ? 'i' : as<Let>(s) ? 'l' : as<Jump>(s) ? 'j' : '?';
  });
  for_each_statement(root, [&](const Stmt &s) {
    below += as<If>(s) ? 'i' : as<Let>(s) ? 'l' : as<Jump>(s) ? 'j' : '?';
    return true;
  });
  EXPECT_EQ(kinds, "ilj");
  EXPECT_EQ(below, "ijjlj");
}

TEST(Match, hands_over_the_kind_of_the_node) {
  auto kind = [](const Expr &e) {
    return match(
        e, [](const Const &) { return 'c'; }, [](const Ref &) { return 'r'; },
        [](const Load &) { return 'l'; }, [](const Unary &) { return 'u'; },
        [](const Binary &) { return 'b'; }, [](const Logic &) { return 'g'; },
        [](const Select &) { return 's'; }, [](const Cast &) { return 'k'; },
        [](const Call &) { return 'f'; });
  };
  Expr x = variable("x");
  EXPECT_EQ(kind(const_int(1)), 'c');
  EXPECT_EQ(kind(x), 'r');
  EXPECT_EQ(kind(add(x, x)), 'b');
  EXPECT_EQ(kind(cast(DType::f64, x)), 'k');
  EXPECT_EQ(as<Ref>(const_int(1)), nullptr);
  EXPECT_EQ(as<Ref>(Expr{}), nullptr);
}

}  // namespace
}  // namespace kw
