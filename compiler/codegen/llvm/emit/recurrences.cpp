// The values of such cells move from statement to statement in vector registers, not through the scalar.
#include "codegen/llvm/emit/recurrences.h"

#include "codegen/llvm/emit/scalars.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

using V = llvm::Value *;

namespace {

bool is_least_or_largest(const Expr &e) {
  const Binary *n = as<Binary>(e);
  return n && (n->op == BinOp::min || n->op == BinOp::max);
}

bool is_step(const Expr &e) {
  const Binary *n = as<Binary>(e);
  return is_least_or_largest(e) || (n && (n->op == BinOp::add || n->op == BinOp::sub));
}

bool reads_in_steps(const Expr &e, const BufNode *cell) {
  const Load *load = as<Load>(e);
  if (load) return load->buf.get() == cell;
  const Binary *n = is_step(e) ? as<Binary>(e) : nullptr;
  return n && (reads_in_steps(n->a, cell) || reads_in_steps(n->b, cell));
}

}  // namespace

/// Whether a serial loop makes the cell the least or largest of itself and something else, and no loop in
/// lanes has to do with it.
bool RecurrenceEmitter::is_recurrence(const Alloc &n) const {
  if (n.buf->dtype != DType::i32 || !target().has_vector_i32_minimum()) return false;
  bool in_lanes = false;
  auto note = [&](const Buf &b) { in_lanes |= b == n.buf; };
  walk(n.body, [&](const For &loop, const Stmt &) {
    if (loop.kind == ForKind::serial) return;
    walk(
        loop.body, [&](const Store &s, const Stmt &) { note(s.buf); },
        [&](const Load &l, const Expr &) { note(l.buf); });
  });
  if (in_lanes) return false;
  std::unordered_map<const SymNode *, Expr> values;
  walk(n.body, [&](const Let &let, const Stmt &) { values[let.sym.get()] = let.value; });
  bool found = false;
  walk(n.body, [&](const For &loop, const Stmt &) {
    if (loop.kind != ForKind::serial) return;
    walk(loop.body, [&](const Store &store, const Stmt &) {
      if (store.buf != n.buf) return;
      const Ref *name = as<Ref>(store.value);
      auto known = name ? values.find(name->sym.get()) : values.end();
      const Expr &value = known == values.end() ? store.value : known->second;
      found |= is_least_or_largest(value) && reads_in_steps(value, n.buf.get());
    });
  });
  return found;
}

/// Whether the value of an expression comes from such a cell by steps that vector registers take.
bool RecurrenceEmitter::comes_from_recurrence(const Expr &e) const {
  if (e.dtype() != DType::i32) return false;
  if (const Ref *n = as<Ref>(e)) return cx_.recurrence_values.count(n->sym.get()) > 0;
  if (const Load *n = as<Load>(e)) return cx_.recurrences.count(n->buf.get()) > 0;
  const Binary *n = is_step(e) ? as<Binary>(e) : nullptr;
  return n && (comes_from_recurrence(n->a) || comes_from_recurrence(n->b));
}

llvm::Value *RecurrenceEmitter::in_first_lane(V v) {
  auto *lanes = llvm::FixedVectorType::get(v->getType(), 4);
  return b_.CreateInsertElement(llvm::PoisonValue::get(lanes), v, uint64_t{0});
}

/// The value in the first lane; the others are of no use.
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

/// A Let whose value other statements read as a number, and the cell as what it is.
void RecurrenceEmitter::let(const Let &n) {
  if (is_least_or_largest(n.value) && comes_from_recurrence(n.value)) {
    V lanes = cx_.recurrence_values[n.sym.get()] = value(n.value);
    cx_.values[n.sym.get()] = b_.CreateExtractElement(lanes, uint64_t{0});
    return;
  }
  cx_.values[n.sym.get()] = scalars().expr(n.value);
}

}  // namespace kw
