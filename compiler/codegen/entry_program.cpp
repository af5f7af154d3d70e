// Translates IR expressions over extents and scalars to stack code.
#include "codegen/entry_program.h"

#include <algorithm>

#include "analysis/affine.h"
#include "codegen/bytes.h"
#include "ir/build.h"
#include "ir/walk.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

namespace {

/// Translates expressions to postfix stack code: operands first, then their operation.
///     n * 2 + 1   →   dim 0, push 2, mul, push 1, add
/// A failed translation leaves partial code behind, so an expression that may fail needs a builder of its
/// own.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const Func &f) : f_(f) {}

  /// Emits code that leaves the value on the stack. Returns false if a part of the expression has no code.
  bool expression(const Expr &e) {
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

  void op(Op o) { w_.u8(static_cast<uint8_t>(o)); }
  std::string take() { return w_.take(); }

 private:
  /// Emits the operation of an expression on the values of its operands, which are on the stack.
  bool operation(const Expr &e) {
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
  bool typed(Op o, uint8_t what, DType t) {
    op(o), w_.u8(what), w_.u8(static_cast<uint8_t>(t));
    return !is_float(t);
  }
  /// Emits the value of an extent or of an integer scalar. The number of a scalar counts the scalar
  /// parameters before it. Returns false for a symbol of the body, which has no value before the kernel runs.
  bool symbol(const Sym &s) {
    for (size_t i = 0; i < f_.extents.size(); ++i)
      if (f_.extents[i] == s) return op(Op::dim), w_.u8(static_cast<uint8_t>(i)), true;
    uint8_t scalar = 0;
    for (const Param &p : f_.params) {
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
  bool binary_op(BinOp o) {
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

  const Func &f_;
  ByteWriter w_;
};

}  // namespace

EntryProgram build_entry_program(const Func &f, const WorkEstimate &work, const SourceMap &sources) {
  EntryProgram out;
  ProgramBuilder b(f);
  // The order matters: each out_extent takes the next extent of the next output.
  for (const Param &p : f.params) {
    if (!p.buf || p.mode != ParamMode::out) continue;
    for (const Expr &e : p.buf->extents) {
      if (!b.expression(e))
        throw CompileError(Diagnostic{Code::E206,
                                      e.loc().known() ? e.loc() : p.buf->sym->loc,
                                      cat("the extents of output '", p.buf->sym->name,
                                          "' must follow from shapes and integer arguments"),
                                      {},
                                      {"pass the size as an argument"}});
      b.op(Op::out_extent);
      Resolved at = resolve(Diagnostic{Code::E304, p.buf->sym->loc, {}, {}, {}}, sources);
      out.extent_places.push_back({at.line, at.column, at.end_column, at.line_text});
    }
  }
  for (const Expr &fact : f.facts) {
    ensure(b.expression(fact), "a fact that the entry program cannot express");
    b.op(Op::fact);
  }
  for (const WorkspaceSlot &slot : plan_workspace(f)) {
    Expr bytes = slot.bytes;
    // Threads allocate it later. Here only a size that is too large, or wraps, is reported.
    if (slot.per_thread) {
      Expr most = const_int(max_extent);
      bytes = select(binary(BinOp::lt, bytes, most), const_int(0), most);
    }
    ensure(b.expression(bytes), "a workspace size that the entry program cannot express");
    b.op(Op::workspace);
  }
  out.bounded = work.bounded;
  out.code = b.take();
  // Unlike the parts above, the estimate may have no code; the kernel then counts as unbounded work.
  ProgramBuilder estimate(f);
  if (estimate.expression(work.operations)) {
    estimate.op(Op::work);
    out.code += estimate.take();
  } else {
    out.bounded = false;
  }
  return out;
}

}  // namespace kw
