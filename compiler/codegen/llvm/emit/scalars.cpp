// Reuses values of shared expressions within a statement, but not those of one side of a lazy operator after
// it.
#include "codegen/llvm/emit/scalars.h"

#include "codegen/llvm/emit/recurrences.h"
#include "codegen/llvm/emit/vector.h"
#include "ir/walk.h"

namespace kw {

using llvm::BasicBlock;
using V = llvm::Value *;

/// Emits a shared node once per statement. Values from one side of a lazy operator are not visible after it.
llvm::Value *ScalarEmitter::expr(const Expr &e) {
  bool shared = e.p.use_count() > 1;
  if (shared)
    if (auto found = cx_.memo.find(e); found != cx_.memo.end()) return found->second;
  V v = expr_uncached(e);
  if (shared) cx_.memo[e] = v;
  return v;
}

/// Emits a node and its operands, left before right.
llvm::Value *ScalarEmitter::expr_uncached(const Expr &e) {
  DType t = e.dtype();
  return match(
      e, [&](const Const &n) { return ops().literal(t, n.bits); },
      [&](const Ref &n) { return entry_of(cx_.values, n.sym.get()); }, [&](const Load &n) { return load(n); },
      [&](const Unary &n) { return ops().unary(n.op, t, expr(n.a)); },
      [&](const Binary &n) {
        V a = expr(n.a), b = expr(n.b);
        return ops().binary(n.op, n.a.dtype(), a, b);
      },
      [&](const Logic &n) { return logic(n); }, [&](const Select &n) { return select(n); },
      [&](const Cast &n) { return ops().convert(n.a.dtype(), t, expr(n.a), n.in_range); },
      [&](const Call &n) {
        std::vector<V> args;
        for (const Expr &a : n.args) args.push_back(expr(a));
        return ops().call(n.fn, n.args[0].dtype(), t, args);
      });
}

/// Adds the row and the place in the row one after the other: in a loop over the last subscript the row is
/// invariant.
llvm::Value *ScalarEmitter::address(const Buf &b, const std::vector<Expr> &index) {
  const Memory &m = entry_of(cx_.buffers, b.get());
  llvm::Type *element = ops().memory_type(b->dtype);
  V row = nullptr, base = m.base;
  for (size_t d = 0; d < index.size(); ++d) {
    V i = expr(index[d]);
    V scaled = m.strides[d] ? b_.CreateMul(i, m.strides[d]) : i;
    if (d + 1 == index.size()) {
      if (row) base = b_.CreateInBoundsGEP(element, base, row);
      return b_.CreateInBoundsGEP(element, base, scaled);
    }
    row = row ? b_.CreateAdd(row, scaled) : scaled;
  }
  return base;
}

/// Loads an element: from a cell, lane 0 of a recurrence's register, one lane of a vector cell, or memory.
llvm::Value *ScalarEmitter::load(const Load &n) {
  if (auto cell = cx_.cells.find(n.buf.get()); cell != cx_.cells.end()) {
    if (!cx_.recurrences.count(n.buf.get())) return b_.CreateLoad(ops().type(n.buf->dtype), cell->second);
    auto *lanes = llvm::FixedVectorType::get(ops().type(n.buf->dtype), 4);
    return b_.CreateExtractElement(b_.CreateLoad(lanes, cell->second), uint64_t{0});
  }
  if (auto cell = cx_.vector_cells.find(n.buf.get()); cell != cx_.vector_cells.end()) {
    auto *lanes = llvm::cast<llvm::AllocaInst>(cell->second)->getAllocatedType();
    return b_.CreateExtractElement(b_.CreateLoad(lanes, cell->second), expr(n.index[0]));
  }
  V at = address(n.buf, n.index);
  return ops().from_memory(b_.CreateLoad(ops().memory_type(n.buf->dtype), at), n.buf->dtype);
}

/// Returns whether this statement has evaluated the expression.
bool ScalarEmitter::is_known(const Expr &e) const {
  return cx_.memo.count(e) || (cx_.vector && cx_.vector->memo.count(e));
}

/// Evaluates the common subexpressions of both sides before the branch, so that code does not double with
/// each branch.
void ScalarEmitter::evaluate_common(const Expr &yes, const Expr &no) {
  std::unordered_set<const ExprNode *> of_yes, visited;
  auto is_shared = [](const Expr &e) { return e.p.use_count() > 1; };
  for_each_certain(
      yes, [&](const Expr &e) { return !is_shared(e) || (!is_known(e) && of_yes.insert(e.p.get()).second); });
  for_each_certain(no, [&](const Expr &e) {
    if (!is_shared(e)) return true;
    if (of_yes.count(e.p.get()))
      return cx_.vector && cx_.vector->view->is_divergent(e) ? vectors().widen(e) : expr(e), false;
    return visited.insert(e.p.get()).second;
  });
}

/// Emits a select instruction if both sides may be evaluated in any case, else a branch.
llvm::Value *ScalarEmitter::select(const Select &n) {
  V cond = expr(n.cond);
  if (n.eager_yes && n.eager_no) {
    V yes = expr(n.yes), no = expr(n.no);
    return b_.CreateSelect(cond, yes, no);
  }
  return lazily(cond, n.yes, n.no, nullptr, nullptr);
}

/// Branches around the second operand:
///     a and b   →   b if a else False          a or b   →   True if a else b
llvm::Value *ScalarEmitter::logic(const Logic &n) {
  V a = expr(n.a), decided = b_.getInt1(!n.is_and);
  return n.is_and ? lazily(a, n.b, {}, nullptr, decided) : lazily(a, {}, n.b, decided, nullptr);
}

/// Emits a branch with a phi. A side without an expression has its value already.
llvm::Value *ScalarEmitter::lazily(V cond, const Expr &yes, const Expr &no, V yes_value, V no_value) {
  if (yes && no) evaluate_common(yes, no);
  BasicBlock *on_yes = block("yes"), *on_no = block("no"), *join = block("join");
  b_.CreateCondBr(cond, on_yes, on_no);
  // Each side begins with the values known before the branch: those of the other side do not dominate it.
  auto outer = cx_.memo;
  b_.SetInsertPoint(on_yes);
  if (yes) yes_value = expr(yes);
  BasicBlock *yes_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  cx_.memo = outer;
  b_.SetInsertPoint(on_no);
  if (no) no_value = expr(no);
  BasicBlock *no_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  cx_.memo = std::move(outer);
  b_.SetInsertPoint(join);
  llvm::PHINode *phi = b_.CreatePHI(yes_value->getType(), 2);
  phi->addIncoming(yes_value, yes_end);
  phi->addIncoming(no_value, no_end);
  return phi;
}

}  // namespace kw
