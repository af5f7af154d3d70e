// Loops of the kind vector: `width` iterations at once. Takes loops that gather a bool, `s[()] = s[()] | e`
// with e of integers and contiguous loads; every other one runs serially, which means the same.
#include "analysis/affine.h"
#include "codegen/llvm/emit.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/match.h"
#include "support/diagnostic.h"

namespace kw {

using llvm::BasicBlock;

namespace {

/// The bool that a vector loop adds to its cell in each iteration, or null.
Expr gathered_bool(const For &n) {
  const Store *s = as<Store>(n.body);
  const Binary *sum =
      s && s->index.empty() && s->buf->space == Space::registers ? as<Binary>(s->value) : nullptr;
  const Load *before =
      sum && sum->op == BinOp::bit_or && s->buf->dtype == DType::b1 ? as<Load>(sum->a) : nullptr;
  return before && before->buf == s->buf ? sum->b : Expr{};
}

/// Of an index: no change from one iteration to the next, or one step.
bool moves_by(const Expr &index, const Sym &iter, int64_t step) {
  if (!mentions(index, iter)) return step == 0;
  auto form = affine_of(index);
  if (!form) return false;
  int64_t coefficient = 0;
  for (const AffineTerm &t : form->terms) {
    const Ref *atom = as<Ref>(t.atom);
    if (atom && atom->sym == iter)
      coefficient = t.coefficient;
    else if (mentions(t.atom, iter))
      return false;
  }
  return coefficient == step;
}

}  // namespace

/// True when the load gives the same value in each iteration or neighbouring elements one after the other.
bool FunctionEmitter::is_regular(const Load &n, const Sym &iter) const {
  auto memory = buffers_.find(n.buf.get());
  if (memory == buffers_.end() || n.buf->dtype == DType::b1) return false;
  for (size_t d = 0; d + 1 < n.index.size(); ++d)
    if (!moves_by(n.index[d], iter, 0)) return false;
  if (n.index.empty() || moves_by(n.index.back(), iter, 0)) return true;
  return !memory->second.strides.back() && moves_by(n.index.back(), iter, 1);
}

bool FunctionEmitter::widens(const Expr &e, const Sym &iter) const {
  return match(
      e, [](const Const &) { return true; }, [](const Ref &) { return true; },
      [&](const Load &n) { return is_regular(n, iter); }, [&](const Unary &n) { return widens(n.a, iter); },
      [&](const Binary &n) {
        bool simple = n.op == BinOp::add || n.op == BinOp::sub || n.op == BinOp::mul ||
                      n.op == BinOp::bit_or || n.op == BinOp::bit_and || n.op >= BinOp::lt;
        return simple && !is_float(n.a.dtype()) && widens(n.a, iter) && widens(n.b, iter);
      },
      [](const Logic &) { return false; }, [](const Select &) { return false; },
      [&](const Cast &n) {
        bool integers = !is_float(e.dtype()) && !is_float(n.a.dtype()) && e.dtype() != DType::b1;
        return integers && widens(n.a, iter);
      },
      [](const Call &) { return false; });
}

/// The values of the iterations first, first + 1, … as one vector.
FunctionEmitter::V FunctionEmitter::widen(const Expr &e, const VectorLoop &at) {
  auto everywhere = [&](V v) { return b_.CreateVectorSplat(at.width, v); };
  return match(
      e, [&](const Const &) { return everywhere(expr(e)); },
      [&](const Ref &n) {
        if (n.sym != at.iter) return everywhere(expr(e));
        V steps = b_.CreateStepVector(llvm::FixedVectorType::get(b_.getInt64Ty(), at.width));
        return b_.CreateAdd(everywhere(at.first), steps);
      },
      [&](const Load &n) {
        values_[at.iter.get()] = at.first;
        if (n.index.empty() || !mentions(n.index.back(), at.iter)) return everywhere(load(n));
        llvm::Type *element = memory_type(n.buf->dtype);
        V place = address(n.buf, n.index);
        auto *all = b_.CreateAlignedLoad(llvm::FixedVectorType::get(element, at.width), place,
                                         llvm::Align(bit_width(n.buf->dtype) / 8));
        return static_cast<V>(all);
      },
      [&](const Unary &n) { return unary(n.op, e.dtype(), widen(n.a, at)); },
      [&](const Binary &n) {
        V a = widen(n.a, at), b = widen(n.b, at);
        return binary(n.op, n.a.dtype(), a, b);
      },
      [](const Logic &) { return V{}; }, [](const Select &) { return V{}; },
      [&](const Cast &n) {
        auto *to = llvm::FixedVectorType::get(type(e.dtype()), at.width);
        return b_.CreateIntCast(widen(n.a, at), to, is_signed_int(n.a.dtype()));
      },
      [](const Call &) { return V{}; });
}

bool FunctionEmitter::runs_in_vectors(const For &n) const {
  if (n.kind != ForKind::vector || n.width < 2 || n.step != 1) return false;
  Expr term = gathered_bool(n);
  return term && widens(term, n.iter);
}

/// Whole vectors, then what is left of the iterations one by one.
void FunctionEmitter::vector_loop(const For &n, V lo, V trips) {
  Expr term = gathered_bool(n);
  V cell = cells_.at(as<Store>(n.body)->buf.get());
  auto *lanes = llvm::FixedVectorType::get(b_.getInt1Ty(), n.width);
  V none = llvm::Constant::getNullValue(lanes), width = b_.getInt64(n.width);
  V whole = b_.CreateSub(trips, b_.CreateURem(trips, width));
  BasicBlock *before = b_.GetInsertBlock(), *body = block("vectors"), *done = block("rest");
  b_.CreateCondBr(b_.CreateICmpEQ(whole, b_.getInt64(0)), done, body);
  b_.SetInsertPoint(body);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2), *seen = b_.CreatePHI(lanes, 2);
  k->addIncoming(b_.getInt64(0), before);
  seen->addIncoming(none, before);
  V now = b_.CreateOr(seen, widen(term, {n.iter, b_.CreateAdd(lo, k), n.width}));
  V next = b_.CreateAdd(k, width, "", true, true);
  k->addIncoming(next, body);
  seen->addIncoming(now, body);
  b_.CreateCondBr(b_.CreateICmpEQ(next, whole), done, body);
  b_.SetInsertPoint(done);
  memo_.clear();
  llvm::PHINode *found = b_.CreatePHI(lanes, 2);
  found->addIncoming(none, before);
  found->addIncoming(now, body);
  V old = b_.CreateLoad(b_.getInt1Ty(), cell);
  b_.CreateStore(b_.CreateOr(old, b_.CreateOrReduce(found)), cell);
  plain_loop(n, b_.CreateAdd(lo, whole), b_.CreateSub(trips, whole), false);
}

}  // namespace kw
