// Values of recurrences stay in vector registers from statement to statement, and do not pass through
// scalars.
#include "codegen/llvm/emit/recurrences.h"

#include "codegen/llvm/emit/scalars.h"
#include "ir/accumulation.h"
#include "ir/match.h"

namespace kw {

using V = llvm::Value *;

/// Returns whether the value of an expression comes from a recurrence, by operations that vector registers
/// support.
bool RecurrenceEmitter::comes_from_recurrence(const Expr &e) const {
  if (e.dtype() != DType::i32) return false;
  if (const Ref *n = as<Ref>(e)) return cx_.recurrence_values.count(n->sym.get()) > 0;
  if (const Load *n = as<Load>(e)) return cx_.recurrences.count(n->buf.get()) > 0;
  const Binary *n = is_step_of_recurrence(e) ? as<Binary>(e) : nullptr;
  return n && (comes_from_recurrence(n->a) || comes_from_recurrence(n->b));
}

/// Moves a scalar into lane 0 of a register of four lanes. The other lanes stay undefined: nothing reads
/// them.
llvm::Value *RecurrenceEmitter::in_first_lane(V v) {
  auto *lanes = llvm::FixedVectorType::get(v->getType(), 4);
  return b_.CreateInsertElement(llvm::PoisonValue::get(lanes), v, uint64_t{0});
}

/// Returns the value in lane 0 of a register; the other lanes have no meaning.
llvm::Value *RecurrenceEmitter::value(const Expr &e) {
  if (!comes_from_recurrence(e)) return in_first_lane(scalars().expr(e));
  if (const Ref *n = as<Ref>(e)) return entry_of(cx_.recurrence_values, n->sym.get());
  if (const Load *n = as<Load>(e)) {
    V cell = entry_of(cx_.cells, n->buf.get());
    return b_.CreateLoad(llvm::cast<llvm::AllocaInst>(cell)->getAllocatedType(), cell);
  }
  const Binary *n = as<Binary>(e);
  V a = value(n->a), b = value(n->b);
  switch (n->op) {
    case BinOp::add: return b_.CreateAdd(a, b);
    case BinOp::sub: return b_.CreateSub(a, b);
    case BinOp::min: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
    default: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  }
}

/// Emits a Let, as a vector for the cell and as a scalar for other statements.
void RecurrenceEmitter::let(const Let &n) {
  if (is_min_or_max(n.value) && comes_from_recurrence(n.value)) {
    V lanes = cx_.recurrence_values[n.sym.get()] = value(n.value);
    cx_.values[n.sym.get()] = b_.CreateExtractElement(lanes, uint64_t{0});
    return;
  }
  cx_.values[n.sym.get()] = scalars().expr(n.value);
}

}  // namespace kw
