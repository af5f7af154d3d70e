// Builds nodes: checks operand types, computes the depth (E105 above 1,000), and folds constants by
// ir/scalar_ops. Never changes what is evaluated.
#pragma once

#include <optional>

#include "ir/node.h"
#include "ir/scalar_ops.h"

namespace kw {

/// The raw constructors compute the depth and fold nothing.
Expr make_expr(DType dtype, Loc loc, decltype(ExprNode::v) v);
Stmt make_stmt(Loc loc, decltype(StmtNode::v) v);

/// Returns the depth of a node with these parts.
uint32_t expected_depth(const ExprNode &e);
uint32_t expected_depth(const StmtNode &s);

Expr constant(Value v, Loc loc = {});
Expr const_int(int64_t v, Loc loc = {});
Expr const_bool(bool v, Loc loc = {});
Expr const_float(DType dtype, double v, Loc loc = {});
Expr ref(const Sym &sym, Loc loc = {});
Expr load(const Buf &buf, std::vector<Expr> index, Loc loc = {});
Expr unary(UnOp op, Expr a, Loc loc = {});
/// Builds an operation on operands of equal dtype; comparisons give b1. Folds constants and, for integers,
/// x+0, x*1 and the like.
Expr binary(BinOp op, Expr a, Expr b, Loc loc = {});
/// Builds a comparison of a Check without folding, even of constants: a fault reports the operands of the
/// failed one.
Expr unfolded(BinOp op, Expr a, Expr b, Loc loc = {});
Expr logic(bool is_and, Expr a, Expr b, Loc loc = {});
Expr select(Expr cond, Expr yes, Expr no, Loc loc = {});
Expr cast(DType to, Expr a, Loc loc = {});
Expr call(Fn fn, std::vector<Expr> args, Loc loc = {});
Expr call(Fn fn, DType result, std::vector<Expr> args, Loc loc);

Stmt store(Buf buf, std::vector<Expr> index, Expr value, Loc loc = {}, OrderMark order = {});
Stmt let(Sym sym, Expr value, Stmt body, Loc loc = {});
Stmt alloc(Buf buf, Fill fill, Stmt body, Loc loc = {});
Stmt for_loop(For loop, Loc loc = {});
Stmt if_else(Expr cond, Stmt yes, Stmt no, Loc loc = {});
Stmt check(Expr cond, uint32_t site, Loc loc = {});
/// Builds a sequence: flattens nested sequences and drops null items. A single item is returned as it is.
Stmt seq(std::vector<Stmt> items, Loc loc = {});

Buf make_buf(Sym sym, std::vector<Expr> extents, Space space, std::vector<Expr> strides = {});

/// Returns the value of an integer or bool constant; nothing for a uint64 beyond int64.
std::optional<int64_t> as_int(const Expr &e);
/// Returns whether an expression is an extent.
bool is_extent(const Expr &e);
std::optional<Value> as_const(const Expr &e);

// i64 arithmetic for subscripts and extents
inline Expr add(Expr a, Expr b) { return binary(BinOp::add, std::move(a), std::move(b)); }
inline Expr sub(Expr a, Expr b) { return binary(BinOp::sub, std::move(a), std::move(b)); }
inline Expr mul(Expr a, Expr b) { return binary(BinOp::mul, std::move(a), std::move(b)); }

}  // namespace kw
