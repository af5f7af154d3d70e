// Chains of minima and maxima of integers from iteration to iteration (edit distances, shortest paths): they
// are kept in the first lane of a vector register, where a minimum is one step. Between general registers it
// is a comparison and a choice, one after the other.
#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

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
bool FunctionEmitter::is_chained(const Alloc &n) const {
  if (n.buf->dtype != DType::i32 || !target_.has("sse4.1")) return false;
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
bool FunctionEmitter::comes_from_chain(const Expr &e) const {
  if (e.dtype() != DType::i32) return false;
  if (const Ref *n = as<Ref>(e)) return chained_values_.count(n->sym.get()) > 0;
  if (const Load *n = as<Load>(e)) return chained_.count(n->buf.get()) > 0;
  const Binary *n = is_step(e) ? as<Binary>(e) : nullptr;
  return n && (comes_from_chain(n->a) || comes_from_chain(n->b));
}

FunctionEmitter::V FunctionEmitter::in_first_lane(V v) {
  auto *lanes = llvm::FixedVectorType::get(v->getType(), 4);
  return b_.CreateInsertElement(llvm::PoisonValue::get(lanes), v, uint64_t{0});
}

/// The value in the first lane; the others are of no use.
FunctionEmitter::V FunctionEmitter::chained(const Expr &e) {
  if (!comes_from_chain(e)) return in_first_lane(expr(e));
  if (const Ref *n = as<Ref>(e)) return entry_of(chained_values_, n->sym.get());
  if (const Load *n = as<Load>(e)) {
    V cell = entry_of(cells_, n->buf.get());
    return b_.CreateLoad(llvm::cast<llvm::AllocaInst>(cell)->getAllocatedType(), cell);
  }
  const Binary *n = as<Binary>(e);
  V a = chained(n->a), b = chained(n->b);
  switch (n->op) {
    case BinOp::add: return b_.CreateAdd(a, b);
    case BinOp::sub: return b_.CreateSub(a, b);
    case BinOp::min: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
    default: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  }
}

/// A Let whose value other statements read as a number, and the cell as what it is.
void FunctionEmitter::let_value(const Let &n) {
  if (is_least_or_largest(n.value) && comes_from_chain(n.value)) {
    V lanes = chained_values_[n.sym.get()] = chained(n.value);
    values_[n.sym.get()] = b_.CreateExtractElement(lanes, uint64_t{0});
    return;
  }
  values_[n.sym.get()] = expr(n.value);
}

}  // namespace kw
