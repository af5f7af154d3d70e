// Fuses a product into the sum that uses it, and splits them again.
#include "transform/passes.h"

#include <unordered_set>

#include "ir/intrinsics.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Returns the product that an expression is, or null. By the rule, `x ** 2`, which lowers to a product of
/// one node with itself, is no product.
const Binary *product_of(const Expr &e) {
  const Binary *n = as<Binary>(e);
  if (!n || n->op != BinOp::mul || n->a.p == n->b.p) return nullptr;
  return n;
}

Expr negate(const Expr &e, Loc loc) { return unary(UnOp::neg, e, loc); }

/// Fuses one sum or difference; returns `e` if no operand is a product.
///     a * b - c   →   fma(a, b, -c)          c - a * b   →   fma(-a, b, c)
Expr fuse(const Binary &n, const Expr &e) {
  if ((n.op != BinOp::add && n.op != BinOp::sub) || (e.dtype() != DType::f32 && e.dtype() != DType::f64))
    return e;
  bool minus = n.op == BinOp::sub;
  if (const Binary *p = product_of(n.a))
    return call(Fn::fma, {p->a, p->b, minus ? negate(n.b, e.loc()) : n.b}, e.loc());
  if (const Binary *p = product_of(n.b))
    return call(Fn::fma, {minus ? negate(p->a, e.loc()) : p->a, p->b, n.a}, e.loc());
  return e;
}

}  // namespace

Func fuse_fma(const Func &f, const Target &target) {
  if (f.fp == FpMode::strict || !target.has_fma()) return f;
  Func out = f;
  out.body = rewrite(f.body, [](const Binary &n, const Expr &e) { return fuse(n, e); });
  return out;
}

namespace {

/// Finds values of an innermost loop that wait for the previous iteration: they come from memory that the
/// loop writes, also by way of locals.
class Carried {
 public:
  explicit Carried(const Stmt &body) {
    walk(body, [&](const Store &n, const Stmt &) { written_.insert(n.buf.get()); });
    walk(body, [&](const Let &n, const Stmt &) {
      if (waits(n.value)) locals_.insert(n.sym.get());
    });
  }

  bool waits(const Expr &e) const {
    bool found = false;
    walk(
        e, [&](const Load &n, const Expr &) { found |= written_.count(n.buf.get()) > 0; },
        [&](const Ref &n, const Expr &) { found |= locals_.count(n.sym.get()) > 0; });
    return found;
  }

 private:
  std::unordered_set<const BufNode *> written_;
  std::unordered_set<const SymNode *> locals_;
};

/// Splits an fma. A negated factor, as fuse makes it, becomes a difference again.
Expr apart(const Call &fma, const Expr &e) {
  const Unary *minus = as<Unary>(fma.args[0]);
  bool negated = minus && minus->op == UnOp::neg;
  Expr product = binary(BinOp::mul, negated ? minus->a : fma.args[0], fma.args[1], e.loc());
  return binary(negated ? BinOp::sub : BinOp::add, fma.args[2], product, e.loc());
}

/// Splits each fma of a loop body whose addend waits for the previous iteration while its factors do not.
Stmt split(const Stmt &body) {
  constexpr size_t most = 4;  // more of them, at two per cycle, take longer than the chain of one
  Carried carried(body);
  auto waits = [&](const Call &n) {
    return n.fn == Fn::fma && carried.waits(n.args[2]) && !carried.waits(n.args[0]) &&
           !carried.waits(n.args[1]);
  };
  size_t count = 0;
  for_each_evaluated(
      body, [&](const Expr &e) { walk(e, [&](const Call &n, const Expr &) { count += waits(n); }); });
  if (count > most) return body;
  return rewrite(body, [&](const Call &n, const Expr &e, const Expr &original) {
    return waits(*as<Call>(original)) ? apart(n, e) : e;
  });
}

/// Returns whether iterations run one after the other: the body holds no loops and no sums that vectors take.
bool is_sequence(const Stmt &body) {
  bool plain = true;
  walk(
      body, [&](const For &, const Stmt &) { plain = false; },
      [&](const While &, const Stmt &) { plain = false; },
      [&](const Store &n, const Stmt &) { plain = plain && n.order != Order::lanes; });
  return plain;
}

}  // namespace

Func split_fma(const Func &f, const Target &) {
  if (f.fp != FpMode::fast) return f;
  // a loop inside a vector loop is vectorized, and vectorized fma stay fused
  std::unordered_set<const StmtNode *> in_vectors;
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.kind != ForKind::vector) return;
    walk(
        n.body, [&](const For &, const Stmt &s) { in_vectors.insert(s.p.get()); },
        [&](const While &, const Stmt &s) { in_vectors.insert(s.p.get()); });
  });
  Func out = f;
  out.body = rewrite(
      f.body,
      [&](const For &n, const Stmt &s, const Stmt &original) {
        bool waits = n.kind == ForKind::serial && !in_vectors.count(original.p.get()) && is_sequence(n.body);
        if (!waits) return s;
        For loop = n;
        loop.body = split(n.body);
        return for_loop(std::move(loop), s.loc());
      },
      [&](const While &n, const Stmt &s, const Stmt &original) {
        if (in_vectors.count(original.p.get()) || !is_sequence(n.body)) return s;
        return make_stmt(s.loc(), While{n.cond, split(n.body)});
      });
  return out;
}

}  // namespace kw
