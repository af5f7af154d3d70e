// Statements and expressions of a vector loop, over all lanes at once. What is the same in each lane stays a
// single value; memory is read and written in rows, with the lanes in reverse, or lane by lane.
#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "ir/match.h"

namespace kw {

using llvm::BasicBlock;

/// False when the statement is emitted as it is anywhere else.
bool FunctionEmitter::wide_statement(const Stmt &s) {
  lanes_->memo.clear();
  if (const Store *n = as<Store>(s)) return wide_store(*n), true;
  if (const Alloc *n = as<Alloc>(s)) return wide_allocate(*n), true;
  if (const If *n = as<If>(s); n && lanes_->view->varies(n->cond)) return wide_branch(*n), true;
  const Let *n = as<Let>(s);
  if (!n || !lanes_->view->varies(n->value)) return false;
  if (n->value.dtype() == DType::i64 && lanes_->view->step(n->value))
    values_[n->sym.get()] = expr(n->value);  // of lane 0
  else
    lanes_->values[n->sym.get()] = widen(n->value);
  return true;
}

void FunctionEmitter::wide_allocate(const Alloc &n) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  auto *lanes = llvm::FixedVectorType::get(type(n.buf->dtype), lanes_->count);
  lanes_->cells[n.buf.get()] = at_entry.CreateAlloca(lanes, nullptr, n.buf->sym->name);
}

void FunctionEmitter::wide_store(const Store &n) {
  V value = widen(n.value);
  if (n.buf->space == Space::registers) {
    V cell = lanes_->cells.at(n.buf.get());
    if (lanes_->mask) value = b_.CreateSelect(lanes_->mask, value, b_.CreateLoad(value->getType(), cell));
    b_.CreateStore(value, cell);
    return;
  }
  DType t = n.buf->dtype;
  if (t == DType::b1) value = b_.CreateZExt(value, shaped_as(value, b_.getInt8Ty()));
  WidePlace place = wide_place(n.buf, n.index);
  llvm::Align align(std::max(bit_width(t), 8u) / 8);
  V mask = lanes_->mask;
  if (place.step == -1) {  // lane 0 is the last in memory
    place.at = b_.CreateConstGEP1_64(memory_type(t), place.at, uint64_t{1} - lanes_->count);
    value = reversed(value);
    mask = mask ? reversed(mask) : nullptr;
  }
  if (place.step != 1 && place.step != -1)
    b_.CreateMaskedScatter(value, wide_pointers(place, memory_type(t)), align,
                           mask ? mask : splat(b_.getInt1(true)));
  else if (mask)
    b_.CreateMaskedStore(value, place.at, align, mask);
  else
    b_.CreateAlignedStore(value, place.at, align);
}

FunctionEmitter::V FunctionEmitter::both(V mask, V cond) { return mask ? b_.CreateAnd(mask, cond) : cond; }
FunctionEmitter::V FunctionEmitter::any_lane(V mask) { return b_.CreateOrReduce(mask); }
FunctionEmitter::V FunctionEmitter::splat(V v) {
  return v->getType()->isVectorTy() ? v : b_.CreateVectorSplat(lanes_->count, v);
}
FunctionEmitter::V FunctionEmitter::reversed(V v) { return b_.CreateVectorReverse(v); }

/// The body for the lanes of the mask, unless there is none.
template <class F>
void FunctionEmitter::where(V mask, F &&body) {
  BasicBlock *some = block("some"), *done = block("joined");
  b_.CreateCondBr(any_lane(mask), some, done);
  V outer = std::exchange(lanes_->mask, mask);
  auto memo = memo_, wide_memo = lanes_->memo;
  b_.SetInsertPoint(some);
  body(done);
  b_.SetInsertPoint(done);
  lanes_->mask = outer;
  memo_ = std::move(memo), lanes_->memo = std::move(wide_memo);
}

void FunctionEmitter::wide_branch(const If &n) {
  V cond = widen(n.cond);
  V yes = both(lanes_->mask, cond), no = n.no ? both(lanes_->mask, b_.CreateNot(cond)) : nullptr;
  auto run = [&](const Stmt &body) { return [&](BasicBlock *done) { statements(body), b_.CreateBr(done); }; };
  where(yes, run(n.yes));
  if (n.no) where(no, run(n.no));
  memo_.clear(), lanes_->memo.clear();
}

/// The value in each lane.
FunctionEmitter::V FunctionEmitter::widen(const Expr &e) {
  if (!lanes_->view->varies(e)) return splat(expr(e));
  bool shared = e.p.use_count() > 1;
  if (shared)
    if (auto found = lanes_->memo.find(e.p.get()); found != lanes_->memo.end()) return found->second;
  V v = widen_uncached(e);
  if (shared) lanes_->memo[e.p.get()] = v;
  return v;
}

FunctionEmitter::V FunctionEmitter::widen_uncached(const Expr &e) {
  DType t = e.dtype();
  return match(
      e, [&](const Const &) { return splat(expr(e)); }, [&](const Ref &n) { return widen_ref(n); },
      [&](const Load &n) { return widen_load(n); },
      [&](const Unary &n) { return unary(n.op, t, widen(n.a)); },
      [&](const Binary &n) {
        V a = widen(n.a), b = widen(n.b);
        return binary(n.op, n.a.dtype(), a, b);
      },
      [&](const Logic &n) { return widen_logic(n); }, [&](const Select &n) { return widen_select(n); },
      [&](const Cast &n) { return convert(n.a.dtype(), t, widen(n.a)); },
      [&](const Call &n) {
        std::vector<V> args;
        for (const Expr &a : n.args) args.push_back(widen(a));
        return call(n.fn, n.args[0].dtype(), t, args);
      });
}

/// An iterator, or what a Let has named.
FunctionEmitter::V FunctionEmitter::widen_ref(const Ref &n) {
  if (auto found = lanes_->values.find(n.sym.get()); found != lanes_->values.end()) return found->second;
  int64_t step = lanes_->view->step_of(n.sym).value();
  auto *lanes = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_->count);
  V steps = b_.CreateStepVector(lanes);
  if (step != 1) steps = b_.CreateMul(steps, llvm::ConstantInt::getSigned(lanes, step));
  return b_.CreateAdd(splat(values_.at(n.sym.get())), steps);
}

/// The subscripts of lane 0, and how the place moves from lane to lane.
FunctionEmitter::WidePlace FunctionEmitter::wide_place(const Buf &b, const std::vector<Expr> &index) {
  const Memory &m = buffers_.at(b.get());
  llvm::Type *element = memory_type(b->dtype);
  WidePlace out{m.base};
  V row = nullptr, moves = nullptr;  // in lane 0; from lane to lane, where it is no constant
  int64_t step = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    auto scaled = [&](V v) {
      if (!m.strides[d]) return v;
      return b_.CreateMul(v, v->getType()->isVectorTy() ? splat(m.strides[d]) : m.strides[d]);
    };
    auto grows = lanes_->view->step(index[d]);
    if (!grows) {
      V lanes = scaled(widen(index[d]));
      out.offsets = out.offsets ? b_.CreateAdd(out.offsets, lanes) : lanes;
      continue;
    }
    if (*grows && !m.strides[d]) step += *grows;
    if (*grows && m.strides[d]) {
      V by = b_.CreateMul(m.strides[d], llvm::ConstantInt::getSigned(b_.getInt64Ty(), *grows));
      moves = moves ? b_.CreateAdd(moves, by) : by;
    }
    V here = scaled(expr(index[d]));
    bool last = d + 1 == index.size();
    if (last && row) out.at = b_.CreateGEP(element, out.at, row), row = nullptr;
    if (last || !row)
      row = here;
    else
      row = b_.CreateAdd(row, here);
  }
  if (row) out.at = b_.CreateGEP(element, out.at, row);
  if (!moves && !out.offsets) {
    out.step = step;
    return out;
  }
  auto *lanes = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_->count);
  V even = nullptr;
  if (moves && step) moves = b_.CreateAdd(moves, llvm::ConstantInt::getSigned(b_.getInt64Ty(), step));
  if (moves)
    even = b_.CreateMul(b_.CreateStepVector(lanes), splat(moves));
  else if (step)
    even = b_.CreateMul(b_.CreateStepVector(lanes), llvm::ConstantInt::getSigned(lanes, step));
  if (even) out.offsets = out.offsets ? b_.CreateAdd(out.offsets, even) : even;
  return out;
}

/// The address of each lane.
FunctionEmitter::V FunctionEmitter::wide_pointers(const WidePlace &place, llvm::Type *element) {
  auto *lanes = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_->count);
  V offsets = place.offsets;
  if (!offsets)
    offsets =
        b_.CreateMul(b_.CreateStepVector(lanes), llvm::ConstantInt::getSigned(lanes, place.step.value()));
  return b_.CreateGEP(element, place.at, offsets);
}

FunctionEmitter::V FunctionEmitter::widen_load(const Load &n) {
  DType t = n.buf->dtype;
  if (auto cell = lanes_->cells.find(n.buf.get()); cell != lanes_->cells.end())
    return b_.CreateLoad(llvm::FixedVectorType::get(type(t), lanes_->count), cell->second);
  WidePlace place = wide_place(n.buf, n.index);
  auto *lanes = llvm::FixedVectorType::get(memory_type(t), lanes_->count);
  llvm::Align align(std::max(bit_width(t), 8u) / 8);
  V mask = lanes_->mask, none = llvm::Constant::getNullValue(lanes), v = nullptr;
  if (place.step == -1) {  // lane 0 is the last in memory
    V first = b_.CreateConstGEP1_64(memory_type(t), place.at, uint64_t{1} - lanes_->count);
    v = mask ? b_.CreateMaskedLoad(lanes, first, align, reversed(mask), none)
             : static_cast<V>(b_.CreateAlignedLoad(lanes, first, align));
    v = reversed(v);
  } else if (place.step == 1) {
    v = mask ? b_.CreateMaskedLoad(lanes, place.at, align, mask, none)
             : static_cast<V>(b_.CreateAlignedLoad(lanes, place.at, align));
  } else {
    v = b_.CreateMaskedGather(lanes, wide_pointers(place, memory_type(t)), align,
                              mask ? mask : splat(b_.getInt1(true)), none);
  }
  return t == DType::b1 ? b_.CreateICmpNE(v, none) : v;
}

/// One side of a lazy operator, for the lanes that need it; of no meaning in the others.
FunctionEmitter::V FunctionEmitter::widen_side(const Expr &e, V mask) {
  if (is_eager(e)) return widen(e);
  BasicBlock *before = b_.GetInsertBlock(), *end = nullptr;
  V value = nullptr;
  where(mask, [&](BasicBlock *done) {
    value = widen(e);
    end = b_.GetInsertBlock();
    b_.CreateBr(done);
  });
  llvm::PHINode *phi = b_.CreatePHI(value->getType(), 2);
  phi->addIncoming(llvm::Constant::getNullValue(value->getType()), before);
  phi->addIncoming(value, end);
  return phi;
}

FunctionEmitter::V FunctionEmitter::widen_select(const Select &n) {
  V cond = widen(n.cond);
  if (!is_eager(n.yes) && !is_eager(n.no)) evaluate_common(n.yes, n.no);
  V yes = widen_side(n.yes, both(lanes_->mask, cond));
  V no = widen_side(n.no, both(lanes_->mask, b_.CreateNot(cond)));
  return b_.CreateSelect(cond, yes, no);
}

FunctionEmitter::V FunctionEmitter::widen_logic(const Logic &n) {
  V a = widen(n.a);
  V b = widen_side(n.b, both(lanes_->mask, n.is_and ? a : b_.CreateNot(a)));
  return n.is_and ? b_.CreateAnd(a, b) : b_.CreateOr(a, b);
}

}  // namespace kw
