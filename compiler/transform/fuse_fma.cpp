// Fusion of a product into the sum that uses it.
#include "transform/fuse_fma.h"

#include "ir/intrinsics.h"
#include "ir/rewrite.h"

namespace kw {

namespace {

/// `x ** 2` lowers to a product of one node with itself, and is no product by the rule.
const Binary *product_of(const Expr &e) {
  const Binary *n = as<Binary>(e);
  if (!n || n->op != BinOp::mul || n->a.p == n->b.p) return nullptr;
  return n;
}

Expr negate(const Expr &e, Loc loc) { return unary(UnOp::neg, e, loc); }

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

}  // namespace kw
