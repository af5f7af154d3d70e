// Copies bind symbols of their own, share no statement, and take values for what is free in them.
#include "transform/copy.h"

#include <gtest/gtest.h>

#include <unordered_set>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr std::string_view sample = R"(def f(w: inout(i64, (n,)), p: weak(i64)):
  fp('default')
  dims(n)
  for i in serial(0, n, 1):
    u: i64 = w[i] + p
    t = alloc(i64, (4 + u,), 'heap')
    t[0] = u
    for j in serial(0, 4, 1):
      if t[0] < j:
        break
      w[i] = t[j] + i
  return w
)";

TEST(Copy, stands_beside_its_original) {
  Func f = unit::ir(sample);
  Func both = f;
  both.body = seq({f.body, copy_of(f.body)});
  EXPECT_EQ(verify(both), "");
  Func copied = f;
  copied.body = copy_of(f.body);
  EXPECT_TRUE(equal(f, copied)) << print(copied);
  std::unordered_set<const StmtNode *> seen;
  auto visit = [&](const auto &, const Stmt &s) { EXPECT_TRUE(seen.insert(s.p.get()).second); };
  for (const Func *g : {&f, &copied})
    walk(
        g->body, [&](const Store &n, const Stmt &s) { visit(n, s); },
        [&](const Jump &n, const Stmt &s) { visit(n, s); }, [&](const If &n, const Stmt &s) { visit(n, s); });
}

TEST(Copy, values_replace_what_is_free_and_fold) {
  Func f = unit::ir(sample);
  Substitution with;
  with.values[f.params[1].sym.get()] = const_int(0);
  f.body = copy_of(f.body, with);
  EXPECT_NE(print(f).find("u: i64 = w[i]\n"), std::string::npos) << print(f);
}

TEST(Copy, without_a_free_symbol_the_same_tree_comes_back) {
  Func f = unit::ir(sample);
  Substitution with;
  with.values[make_sym(SymKind::local, DType::i64, "x").get()] = const_int(1);
  EXPECT_EQ(substituted(f.body, with).p, f.body.p);
}

}  // namespace
}  // namespace kw
