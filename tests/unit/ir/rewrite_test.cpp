// Bottom-up rewriting: sharing is kept, nothing is copied without need, chains of any length.
#include "ir/rewrite.h"

#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Sym symbol(const char *name) { return make_sym(SymKind::param, DType::i64, name); }
Expr variable(const char *name) {
  Sym s = symbol(name);
  return kw::ref(s);
}

constexpr std::string_view sample = R"(def f(a: inout(i64, (n,)), p: weak(i64)):
  fp('default')
  dims(n)
  t = alloc(i64, (), 'registers')
  t[()] = 1
  for i in serial(0, n, 1):
    u: i64 = a[i] + 7
    if u < p:
      a[i] = u
  while t[()] < 10:
    t[()] = t[()] + 7
  return a
)";

TEST(Rewrite, without_a_match_the_same_pointer_comes_back) {
  Func f = unit::ir(sample);
  Stmt same = rewrite(f.body, [](const Call &, const Expr &e) { return e; });
  EXPECT_EQ(same.p, f.body.p);
  same = rewrite(
      f.body, [](const Const &, const Expr &e) { return e; }, [](const For &, const Stmt &s) { return s; });
  EXPECT_EQ(same.p, f.body.p);
  Expr e = add(variable("x"), const_int(3));
  EXPECT_EQ(rewrite(e, [](const Const &, const Expr &c) { return c; }).p, e.p);
}

TEST(Rewrite, replaces_wherever_a_rule_matches) {
  Func f = unit::ir(sample), want = unit::ir(sample);
  std::string text(sample);
  for (size_t at = text.find("7"); at != std::string::npos; at = text.find("7", at + 1))
    text.replace(at, 1, "9");
  f.body = rewrite(f.body, [](const Const &n, const Expr &e) { return n.bits == 7 ? const_int(9) : e; });
  EXPECT_TRUE(equal(f, unit::ir(text))) << print(f);
  EXPECT_FALSE(equal(f, want));
}

TEST(Rewrite, keeps_what_it_does_not_touch) {
  Expr x = variable("x"), left = mul(x, x), e = add(left, const_int(3));
  Expr out = rewrite(e, [](const Const &, const Expr &) { return const_int(4); });
  ASSERT_TRUE(as<Binary>(out));
  EXPECT_EQ(as<Binary>(out)->a.p, left.p);
  EXPECT_EQ(as_int(as<Binary>(out)->b), 4);
}

TEST(Rewrite, sees_rebuilt_children_and_the_original_handle) {
  Expr x = variable("x"), e = add(mul(x, const_int(2)), const_int(2));
  std::vector<const void *> originals;
  Expr out = rewrite(
      e, [](const Const &, const Expr &) { return const_int(5); },
      [&](const Binary &n, const Expr &rebuilt, const Expr &original) {
        originals.push_back(original.p.get());
        EXPECT_EQ(as_int(n.b), 5);
        EXPECT_NE(rebuilt.p, original.p);
        return rebuilt;
      });
  EXPECT_EQ(originals, (std::vector<const void *>{as<Binary>(e)->a.p.get(), e.p.get()}));
  EXPECT_EQ(print(out), "(x * 5) + 5");
}

TEST(Rewrite, the_first_rule_of_a_kind_decides) {
  Expr out = rewrite(
      add(variable("x"), const_int(1)), [](const Const &, const Expr &) { return const_int(2); },
      [](const Const &, const Expr &) { return const_int(3); });
  EXPECT_EQ(print(out), "x + 2");
}

TEST(Rewrite, shared_expressions_are_rewritten_once_and_stay_shared) {
  Expr e = variable("x");
  for (int i = 0; i < 40; ++i) e = mul(e, e);
  int calls = 0;
  Sym y = symbol("y");
  Expr out = rewrite(e, [&](const Ref &, const Expr &) { return ++calls, kw::ref(y); });
  EXPECT_EQ(calls, 1);
  int products = 0;
  walk(out, [&](const Binary &n, const Expr &) { products += n.a.p == n.b.p; });
  EXPECT_EQ(products, 40);
}

TEST(Rewrite, shared_statements_are_rewritten_once) {
  Stmt s = make_stmt({}, Jump{JumpKind::break_loop});
  for (int i = 0; i < 40; ++i) s = make_stmt({}, If{const_bool(true), s, s});
  int calls = 0;
  Stmt out = rewrite(s, [&](const Jump &, const Stmt &) {
    ++calls;
    return make_stmt({}, Jump{JumpKind::continue_loop});
  });
  EXPECT_EQ(calls, 1);
  int branches = 0;
  walk(out, [&](const If &n, const Stmt &) { branches += n.yes.p == n.no.p; });
  EXPECT_EQ(branches, 40);
}

TEST(Rewrite, reaches_into_long_chains_on_a_small_stack) {
  int lets = 0;
  int64_t sum = 0;
  unit::run_on_stack(512 << 10, [&] {
    Stmt other = make_stmt({}, Jump{JumpKind::continue_loop}), s = make_stmt({}, Jump{JumpKind::break_loop});
    for (int i = 0; i < 100000; ++i) s = make_stmt({}, Seq{{other, let(symbol("t"), const_int(i), s)}});
    Stmt out = rewrite(s, [](const Const &, const Expr &) { return const_int(1); });
    walk(out, [&](const Let &n, const Stmt &) { ++lets, sum += as_int(n.value).value_or(0); });
  });
  EXPECT_EQ(lets, 100000);
  EXPECT_EQ(sum, 100000);
}

TEST(Rewrite, a_change_deep_in_a_chain_rebuilds_the_links_before_it_only) {
  Stmt tail = let(symbol("t"), const_int(2), make_stmt({}, Jump{JumpKind::break_loop}));
  Stmt root = let(symbol("u"), const_int(1), let(symbol("v"), const_int(7), tail));
  Stmt out = rewrite(root, [](const Const &n, const Expr &e) { return n.bits == 7 ? const_int(8) : e; });
  EXPECT_NE(out.p, root.p);
  EXPECT_EQ(as<Let>(as<Let>(out)->body)->body.p, tail.p);
}

TEST(Rewrite, statements_can_vanish_from_sequences) {
  Func f = unit::ir(sample);
  Stmt out = rewrite(
      f.body, [](const While &, const Stmt &) { return seq({}); },
      [](const Seq &n, const Stmt &s) { return seq(n.items, s.loc()); });
  int loops = 0;
  walk(out, [&](const While &, const Stmt &) { ++loops; });
  EXPECT_EQ(loops, 0);
}

TEST(Rewrite, maps_the_operands_of_one_node) {
  Expr sum = add(variable("x"), variable("y"));
  EXPECT_EQ(map_operands(sum, [](const Expr &e) { return e; }).p, sum.p);
  Expr out = map_operands(sum, [](const Expr &e) { return as<Ref>(e)->sym->name == "y" ? const_int(2) : e; });
  EXPECT_EQ(as_int(as<Binary>(out)->b), 2);
  EXPECT_EQ(as<Binary>(out)->a.p, as<Binary>(sum)->a.p);
  Expr narrow = make_expr(DType::i32, {}, Cast{variable("z"), true});
  EXPECT_TRUE(as<Cast>(map_operands(narrow, [](const Expr &) { return const_int(1); }))->in_range);
}

TEST(Rewrite, maps_the_parts_of_one_statement) {
  Stmt rest = make_stmt({}, Jump{JumpKind::break_loop});
  Stmt root = let(symbol("t"), const_int(1), rest);
  auto same = [](const auto &node) { return node; };
  EXPECT_EQ(map_parts(root, same, same).p, root.p);
  Stmt value = map_parts(root, [](const Expr &) { return const_int(2); }, same);
  EXPECT_EQ(as_int(as<Let>(value)->value), 2);
  EXPECT_EQ(as<Let>(value)->body.p, rest.p);
  Stmt other = make_stmt({}, Jump{JumpKind::continue_loop});
  EXPECT_EQ(as<Let>(map_parts(root, same, [&](const Stmt &) { return other; }))->body.p, other.p);
}

}  // namespace
}  // namespace kw
