// Builds nodes with type checks and folding.
#include "ir/build.h"

#include <algorithm>

#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the largest depth in the list; 0 if it is empty.
uint32_t deepest(const std::vector<Expr> &list) {
  uint32_t d = 0;
  for (const Expr &e : list) d = std::max<uint32_t>(d, e->depth);
  return d;
}
uint32_t depth_of(const Expr &e) { return e ? e->depth : 0; }
uint32_t depth_of(const Stmt &s) { return s ? s->depth : 0; }

/// Returns the depth in the type of the nodes. Throws E105 above max_depth, a limit that recursive
/// traversals rely on.
uint16_t checked_depth(uint32_t depth, Loc loc) {
  if (depth > max_depth)
    throw CompileError(Diagnostic{Code::E105,
                                  loc,
                                  cat("expressions and loops nest deeper than ", max_depth),
                                  {},
                                  {"split it: assign parts to locals"}});
  return static_cast<uint16_t>(depth);
}

/// Returns the depth of an expression: 1 for a leaf, else one more than that of the deepest operand.
uint32_t expr_depth(const decltype(ExprNode::v) &v) {
  return 1 + std::visit(Overload{[](const Const &) { return 0u; }, [](const Ref &) { return 0u; },
                                 [](const Load &n) { return deepest(n.index); },
                                 [](const Unary &n) { return depth_of(n.a); },
                                 [](const Binary &n) { return std::max(depth_of(n.a), depth_of(n.b)); },
                                 [](const Logic &n) { return std::max(depth_of(n.a), depth_of(n.b)); },
                                 [](const Select &n) {
                                   return std::max({depth_of(n.cond), depth_of(n.yes), depth_of(n.no)});
                                 },
                                 [](const Cast &n) { return depth_of(n.a); },
                                 [](const Call &n) { return deepest(n.args); }},
                        v);
}

/// Returns the depth of a statement: one more than that of its deepest part. Let, Alloc and Seq add no level:
/// their chains may have any length, and traversals follow them without recursion.
uint32_t stmt_depth(const decltype(StmtNode::v) &v) {
  return std::visit(
      Overload{[](const Store &n) { return 1 + std::max(deepest(n.index), depth_of(n.value)); },
               [](const Let &n) { return std::max(depth_of(n.value), depth_of(n.body)); },
               [](const Alloc &n) { return depth_of(n.body); },
               [](const For &n) { return 1 + std::max({depth_of(n.lo), depth_of(n.hi), depth_of(n.body)}); },
               [](const While &n) { return 1 + std::max(depth_of(n.cond), depth_of(n.body)); },
               [](const Jump &) { return 1u; },
               [](const If &n) { return 1 + std::max({depth_of(n.cond), depth_of(n.yes), depth_of(n.no)}); },
               [](const Check &n) { return 1 + depth_of(n.cond); },
               [](const Seq &n) {
                 uint32_t d = 0;
                 for (const Stmt &s : n.items) d = std::max(d, depth_of(s));
                 return d;
               }},
      v);
}

/// Relies on the order of BinOp, whose last enumerators are lt, le, eq and ne.
bool is_comparison(BinOp op) { return op >= BinOp::lt; }

/// Folds x+0, x-0 and x*1 on integers, to x; returns null for the rest. Floats are excluded, because x+0
/// changes -0.0.
Expr fold_identity(BinOp op, const Expr &a, const Expr &b, DType t) {
  if (!is_int(t)) return {};
  auto x = as_int(a), y = as_int(b);
  if (op == BinOp::add && y == 0) return a;
  if (op == BinOp::add && x == 0) return b;
  if (op == BinOp::sub && y == 0) return a;
  if (op == BinOp::mul && y == 1) return a;
  if (op == BinOp::mul && x == 1) return b;
  return {};
}

}  // namespace

uint32_t expected_depth(const ExprNode &e) { return expr_depth(e.v); }
uint32_t expected_depth(const StmtNode &s) { return stmt_depth(s.v); }

Expr make_expr(DType dtype, Loc loc, decltype(ExprNode::v) v) {
  uint16_t depth = checked_depth(expr_depth(v), loc);
  return {std::make_shared<const ExprNode>(ExprNode{dtype, depth, loc, std::move(v)})};
}

Stmt make_stmt(Loc loc, decltype(StmtNode::v) v) {
  uint16_t depth = checked_depth(stmt_depth(v), loc);
  return {std::make_shared<StmtNode>(depth, loc, std::move(v))};
}

Expr constant(Value v, Loc loc) { return make_expr(v.dtype, loc, Const{v.bits}); }
Expr const_int(int64_t v, Loc loc) { return constant(from_int(DType::i64, v), loc); }
Expr const_bool(bool v, Loc loc) { return constant(from_int(DType::b1, v), loc); }
Expr const_float(DType dtype, double v, Loc loc) { return constant(from_double(dtype, v), loc); }
Expr ref(const Sym &sym, Loc loc) { return make_expr(sym->dtype, loc, Ref{sym}); }

Expr load(const Buf &buf, std::vector<Expr> index, Loc loc) {
  return make_expr(buf->dtype, loc, Load{buf, std::move(index)});
}

/// Returns nothing for an expression that is not a constant, even if its value could be derived.
std::optional<Value> as_const(const Expr &e) {
  const Const *c = as<Const>(e);
  return c ? std::optional<Value>(Value{e.dtype(), c->bits}) : std::nullopt;
}

std::optional<int64_t> as_int(const Expr &e) {
  auto v = as_const(e);
  if (!v || is_float(v->dtype) || (v->dtype == DType::u64 && v->bits >> 63)) return std::nullopt;
  return to_int(*v);
}

bool is_extent(const Expr &e) {
  const Ref *r = as<Ref>(e);
  return r && r->sym->kind == SymKind::extent;
}

Expr unary(UnOp op, Expr a, Loc loc) {
  if (auto v = as_const(a)) return constant(apply(op, *v), loc);
  DType t = a.dtype();
  return make_expr(t, loc, Unary{op, std::move(a)});
}

Expr unfolded(BinOp op, Expr a, Expr b, Loc loc) {
  // other operations fold as usual: a fault reports only the operands of a comparison
  bool compares = is_comparison(op);
  return compares ? make_expr(DType::b1, loc, Binary{op, std::move(a), std::move(b)})
                  : binary(op, std::move(a), std::move(b), loc);
}

Expr binary(BinOp op, Expr a, Expr b, Loc loc) {
  ensure(a.dtype() == b.dtype(), "binary operands of different dtypes");
  DType t = a.dtype();
  auto x = as_const(a), y = as_const(b);
  if (x && y) return constant(apply(op, *x, *y), loc);
  // the operand that is returned keeps its own location
  if (Expr folded = fold_identity(op, a, b, t)) return folded;
  return make_expr(is_comparison(op) ? DType::b1 : t, loc, Binary{op, std::move(a), std::move(b)});
}

Expr logic(bool is_and, Expr a, Expr b, Loc loc) {
  ensure(a.dtype() == DType::b1 && b.dtype() == DType::b1, "logic on something that is no bool");
  // only a constant left side decides: it selects `b`, or `b` is never evaluated
  if (auto v = as_int(a)) return (*v != 0) == is_and ? b : a;
  return make_expr(DType::b1, loc, Logic{is_and, std::move(a), std::move(b)});
}

Expr select(Expr cond, Expr yes, Expr no, Loc loc) {
  ensure(cond.dtype() == DType::b1 && yes.dtype() == no.dtype(), "select of different dtypes");
  if (auto v = as_int(cond)) return *v ? yes : no;
  DType t = yes.dtype();
  return make_expr(t, loc, Select{std::move(cond), std::move(yes), std::move(no)});
}

Expr cast(DType to, Expr a, Loc loc) {
  if (a.dtype() == to) return a;
  if (auto v = as_const(a)) return constant(convert(to, *v), loc);
  return make_expr(to, loc, Cast{std::move(a)});
}

Expr call(Fn fn, DType result, std::vector<Expr> args, Loc loc) {
  return make_expr(result, loc, Call{fn, std::move(args)});
}

Expr call(Fn fn, std::vector<Expr> args, Loc loc) {
  DType result = result_dtype(fn, args.at(0).dtype());
  std::vector<Value> values;
  for (const Expr &a : args)
    if (auto v = as_const(a)) values.push_back(*v);
  // functions without `folds` have no definition in apply(): transform/math expands them
  if (values.size() == args.size() && row_of(fn).folds)
    return constant(kw::apply(fn, std::span<const Value>(values)), loc);
  return call(fn, result, std::move(args), loc);
}

Stmt store(Buf buf, std::vector<Expr> index, Expr value, Loc loc, OrderMark order) {
  ensure(value.dtype() == buf->dtype, "store of another dtype");
  return make_stmt(loc, Store{std::move(buf), std::move(index), std::move(value), order});
}
Stmt let(Sym sym, Expr value, Stmt body, Loc loc) {
  return make_stmt(loc, Let{std::move(sym), std::move(value), std::move(body)});
}
Stmt alloc(Buf buf, Fill fill, Stmt body, Loc loc) {
  return make_stmt(loc, Alloc{std::move(buf), fill, std::move(body)});
}
Stmt for_loop(For loop, Loc loc) { return make_stmt(loc, std::move(loop)); }
Stmt if_else(Expr cond, Stmt yes, Stmt no, Loc loc) {
  return make_stmt(loc, If{std::move(cond), std::move(yes), std::move(no)});
}
Stmt check(Expr cond, uint32_t site, Loc loc) { return make_stmt(loc, Check{std::move(cond), site}); }

Stmt seq(std::vector<Stmt> items, Loc loc) {
  std::vector<Stmt> flat;
  for (Stmt &s : items) {
    if (!s) continue;
    // one level is enough: no Seq stands directly in another (ir/verify)
    if (const Seq *inner = as<Seq>(s))
      flat.insert(flat.end(), inner->items.begin(), inner->items.end());
    else
      flat.push_back(std::move(s));
  }
  if (flat.size() == 1) return flat[0];
  return make_stmt(loc, Seq{std::move(flat)});
}

Buf make_buf(Sym sym, std::vector<Expr> extents, Space space, std::vector<Expr> strides) {
  // the verifier requires that a buffer and its symbol have one dtype
  DType t = sym->dtype;
  return std::make_shared<const BufNode>(
      BufNode{std::move(sym), t, std::move(extents), std::move(strides), space, {}});
}

}  // namespace kw
