// Translates IR expressions over extents, scalars and iterators of the host.
#include "codegen/stack_code.h"

#include "ir/build.h"
#include "ir/walk.h"

namespace kw {

bool StackCode::expression(const Expr &e) {
  if (const Ref *n = as<Ref>(e)) return symbol(n->sym);
  if (const Const *n = as<Const>(e)) {
    op(Op::push), w_.u64(static_cast<uint64_t>(to_int(Value{e.dtype(), n->bits})));
    return !is_float(e.dtype());
  }
  // A program sees extents and scalars, but no element of a tensor.
  if (as<Load>(e) || as<Call>(e)) return false;
  // All operands of a Logic or a Select are evaluated: the operations of ir/scalar_ops cannot trap.
  bool fine = true;
  for_each_operand(e, [&](const Expr &operand) { fine = fine && expression(operand); });
  return fine && operation(e);
}

/// Emits the operation of an expression on the values of its operands, which are on the stack.
bool StackCode::operation(const Expr &e) {
  if (const Unary *n = as<Unary>(e)) {
    if (n->op == UnOp::logical_not) return op(Op::invert), true;
    if (n->op == UnOp::neg && e.dtype() == DType::i64) return op(Op::neg), true;
    return typed(Op::apply_unary, static_cast<uint8_t>(n->op), e.dtype());
  }
  if (const Binary *n = as<Binary>(e)) {
    if (n->a.dtype() == DType::i64 && binary_op(n->op)) return true;
    return typed(Op::apply_binary, static_cast<uint8_t>(n->op), n->a.dtype());
  }
  if (const Logic *n = as<Logic>(e)) return op(n->is_and ? Op::both : Op::any), true;
  if (as<Select>(e)) return op(Op::choose), true;
  // All that remains is a conversion. A kind of expression that is unknown here has no code.
  const Cast *n = as<Cast>(e);
  return n && !is_float(e.dtype()) && typed(Op::convert, static_cast<uint8_t>(n->a.dtype()), e.dtype());
}

/// Emits an operation that works at the width of `t`. Returns false for floats: the stack holds integers.
bool StackCode::typed(Op o, uint8_t what, DType t) {
  op(o), w_.u8(what), w_.u8(static_cast<uint8_t>(t));
  return !is_float(t);
}

/// Emits the value of an extent or of an integer scalar. The number of a scalar counts the scalar
/// parameters before it. Returns false for a symbol of the body, which has no value before the kernel runs.
bool StackCode::symbol(const Sym &s) {
  for (size_t i = 0; i < f_->extents.size(); ++i)
    if (f_->extents[i] == s) return op(Op::dim), w_.u8(static_cast<uint8_t>(i)), true;
  if (s == f_->misaligned) return op(Op::misaligned), true;
  if (auto found = iterators_.find(s.get()); found != iterators_.end())
    return op(Op::iterator), w_.u8(found->second), true;
  if (auto found = values_.find(s.get()); found != values_.end()) return expression(found->second);
  uint8_t scalar = 0;
  for (const Param &p : f_->params) {
    if (!p.sym) continue;
    if (p.sym != s) {
      ++scalar;
      continue;
    }
    if (is_float(s->dtype)) return false;
    op(Op::scalar), w_.u8(scalar), w_.u8(static_cast<uint8_t>(s->dtype));
    return true;
  }
  return false;
}

/// Emits an operation on i64 without a dtype. Extents are i64, so these operations make up most programs.
bool StackCode::binary_op(BinOp o) {
  switch (o) {
    case BinOp::add: return op(Op::add), true;
    case BinOp::sub: return op(Op::sub), true;
    case BinOp::mul: return op(Op::mul), true;
    case BinOp::floor_div: return op(Op::floor_div), true;
    case BinOp::floor_mod: return op(Op::floor_mod), true;
    case BinOp::min: return op(Op::min), true;
    case BinOp::max: return op(Op::max), true;
    case BinOp::lt: return op(Op::lt), true;
    case BinOp::le: return op(Op::le), true;
    case BinOp::eq: return op(Op::eq), true;
    case BinOp::ne: return op(Op::ne), true;
    default: return false;
  }
}

}  // namespace kw
