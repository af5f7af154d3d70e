// Statements and expressions of a vector loop, over all lanes at once. What is the same in each lane stays a
// single value; memory is read and written in rows, with the lanes in reverse, or lane by lane.
#include <llvm/Analysis/VectorUtils.h>

#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "support/diagnostic.h"

namespace kw {

using llvm::BasicBlock;

/// True when lanes may leave their iteration of the loop around it.
static bool may_jump(const If &n) { return jumps_of(n.yes).any() || (n.no && jumps_of(n.no).any()); }

/// False when the statement is emitted as it is anywhere else.
bool FunctionEmitter::wide_statement(const Stmt &s) {
  lanes_->memo.clear();
  if (const Store *n = as<Store>(s)) return wide_store(*n), true;
  if (const Alloc *n = as<Alloc>(s)) return wide_allocate(*n), true;
  if (const If *n = as<If>(s)) {
    if (const ArgReduction *chosen = lanes_->view->arg_reduction_at(*n))
      return vector_arg_reduction(*chosen), true;
    if (lanes_->view->is_divergent(n->cond) || may_jump(*n)) return wide_branch(*n), true;
  }
  if (const While *n = as<While>(s)) return wide_while(*n), true;
  if (const Jump *n = as<Jump>(s)) return wide_jump(*n), true;
  const Let *n = as<Let>(s);
  if (!n || !lanes_->view->is_divergent(n->value)) return false;
  if (n->value.dtype() == DType::i64 && lanes_->view->lane_stride(n->value))
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
  if (auto block = lanes_->blocks ? lanes_->blocks->view->block_of(n) : std::nullopt) {
    lanes_->blocks->values[*block][lanes_->blocks->iteration] = value;
    return;
  }
  if (n.buf->space == Space::registers && n.buf->rank() == 0) {
    if (auto count = lanes_->counts.find(n.buf.get()); count != lanes_->counts.end()) {
      V same = llvm::getSplatValue(value);
      ensure(same, "what counts the iterations of a while differs between lanes");
      b_.CreateStore(same, count->second);
      return;
    }
    V cell = entry_of(lanes_->cells, n.buf.get());
    bool all = lanes_->mask == lanes_->begun && lanes_->view->is_own(n.buf);  // who reads it writes it
    if (lanes_->mask && !all)
      value = b_.CreateSelect(lanes_->mask, value, b_.CreateLoad(value->getType(), cell));
    b_.CreateStore(value, cell);
    return;
  }
  if (auto cell = lane_cells_.find(n.buf.get()); cell != lane_cells_.end())
    return store_lanes(n, cell->second, value);
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
  else if (streaming_ && place.step == 1 && only_written_.count(n.buf.get()))
    stream_store(value, place.at);
  else
    b_.CreateAlignedStore(value, place.at, align);
}

FunctionEmitter::V FunctionEmitter::both(V mask, V cond) { return mask ? b_.CreateAnd(mask, cond) : cond; }
/// Of a mask, or of words that are all ones or all zeros.
FunctionEmitter::V FunctionEmitter::any_lane(V mask) {
  V together = b_.CreateOrReduce(mask);
  return together->getType()->isIntegerTy(1) ? together : b_.CreateIsNotNull(together);
}
FunctionEmitter::V FunctionEmitter::splat(V v) {
  return v->getType()->isVectorTy() ? v : b_.CreateVectorSplat(lanes_->count, v);
}
FunctionEmitter::V FunctionEmitter::reversed(V v) { return b_.CreateVectorReverse(v); }

/// The body for the lanes of the mask, unless there is none.
void FunctionEmitter::where(V mask, const std::function<void(llvm::BasicBlock *)> &body) {
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

/// What is left of a budget of operations after running s in all lanes, of which those that do not run keep
/// their cells; negative where s does more than to set cells of values that are safe to compute.
int FunctionEmitter::cost_of_all_within_budget(const Stmt &s, int budget) const {
  if (budget < 0) return budget;
  if (const Seq *n = as<Seq>(s)) {
    for (const Stmt &one : n->items) budget = cost_of_all_within_budget(one, budget);
    return budget;
  }
  if (const Let *n = as<Let>(s))
    return cost_of_all_within_budget(n->body, cost_within_budget(n->value, budget));
  if (const Store *n = as<Store>(s))
    return lanes_->cells.count(n->buf.get()) ? cost_within_budget(n->value, budget) - 1 : -1;
  const If *n = as<If>(s);
  if (!n) return -1;
  budget = cost_of_all_within_budget(n->yes, cost_within_budget(n->cond, budget));
  return n->no ? cost_of_all_within_budget(n->no, budget) : budget;
}

/// Few operations run in all lanes: asking whether any lane wants them costs as much, and guesses go wrong.
void FunctionEmitter::wide_branch(const If &n) {
  V cond = widen(n.cond);
  V yes = both(lanes_->mask, cond), no = n.no ? both(lanes_->mask, b_.CreateNot(cond)) : nullptr;
  bool in_all =
      cost_of_all_within_budget(n.yes, 16) >= 0 && (!n.no || cost_of_all_within_budget(n.no, 16) >= 0);
  auto run = [&](V mask, const Stmt &body) {
    if (!in_all) return where(mask, [&](BasicBlock *done) { statements(body), b_.CreateBr(done); });
    V outer = std::exchange(lanes_->mask, mask);
    statements(body);
    lanes_->mask = outer;
  };
  run(yes, n.yes);
  if (n.no) run(no, n.no);
  memo_.clear(), lanes_->memo.clear();
  if (may_jump(n)) mask_out_exited_lanes();
}

/// The value in each lane.
FunctionEmitter::V FunctionEmitter::widen(const Expr &e) {
  if (!lanes_->view->is_divergent(e)) return splat(expr(e));
  bool shared = e.p.use_count() > 1;
  if (shared)
    if (auto found = lanes_->memo.find(e.p.get()); found != lanes_->memo.end()) return found->second;
  V v = widen_uncached(e);
  if (shared) lanes_->memo[e.p.get()] = v;
  return v;
}

FunctionEmitter::V FunctionEmitter::widen_uncached(const Expr &e) {
  DType t = e.dtype();
  // what counts in a `while` is the same in all lanes
  auto once_if_same = [&](auto op, auto... lanes) {
    return (llvm::getSplatValue(lanes) && ...) ? splat(op(llvm::getSplatValue(lanes)...)) : op(lanes...);
  };
  return match(
      e, [&](const Const &) { return splat(expr(e)); }, [&](const Ref &n) { return widen_ref(n); },
      [&](const Load &n) { return widen_load(n); },
      [&](const Unary &n) { return once_if_same([&](V a) { return unary(n.op, t, a); }, widen(n.a)); },
      [&](const Binary &n) {
        V a = widen(n.a), b = widen(n.b);
        return once_if_same([&](V x, V y) { return binary(n.op, n.a.dtype(), x, y); }, a, b);
      },
      [&](const Logic &n) { return widen_logic(n); }, [&](const Select &n) { return widen_select(n); },
      [&](const Cast &n) {
        return once_if_same([&](V a) { return convert(n.a.dtype(), t, a); }, widen(n.a));
      },
      [&](const Call &n) {
        std::vector<V> args;
        for (const Expr &a : n.args) args.push_back(widen(a));
        return call(n.fn, n.args[0].dtype(), t, args);
      });
}

/// An iterator, or what a Let has named.
FunctionEmitter::V FunctionEmitter::widen_ref(const Ref &n) {
  if (auto found = lanes_->values.find(n.sym.get()); found != lanes_->values.end()) return found->second;
  int64_t step = lanes_->view->lane_stride_of(n.sym).value();
  auto *lanes = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_->count);
  V steps = b_.CreateStepVector(lanes);
  if (step != 1) steps = b_.CreateMul(steps, llvm::ConstantInt::getSigned(lanes, step));
  return b_.CreateAdd(splat(entry_of(values_, n.sym.get())), steps);
}

/// The subscripts of lane 0, and how the place moves from lane to lane.
FunctionEmitter::WidePlace FunctionEmitter::wide_place(const Buf &b, const std::vector<Expr> &index) {
  const Memory &m = entry_of(buffers_, b.get());
  llvm::Type *element = memory_type(b->dtype);
  WidePlace out{m.base};
  V row = nullptr, moves = nullptr;  // in lane 0; from lane to lane, where it is no constant
  int64_t step = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    auto scaled = [&](V v) {
      if (!m.strides[d]) return v;
      return b_.CreateMul(v, v->getType()->isVectorTy() ? splat(m.strides[d]) : m.strides[d]);
    };
    auto grows = lanes_->view->lane_stride(index[d]);
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
  if (auto *constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(moves))
    step += constant->getSExtValue(), moves = nullptr;
  if (!moves && !out.offsets) {
    out.step = step;
    return out;
  }
  auto *lanes = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_->count);
  V even = nullptr;
  if (moves && step) moves = b_.CreateAdd(moves, llvm::ConstantInt::getSigned(b_.getInt64Ty(), step));
  if (moves && !out.offsets) {
    out.by = moves;
    return out;
  }
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
  if (place.by)
    offsets = b_.CreateMul(b_.CreateStepVector(lanes), splat(place.by));
  else if (!offsets)
    offsets =
        b_.CreateMul(b_.CreateStepVector(lanes), llvm::ConstantInt::getSigned(lanes, place.step.value()));
  return b_.CreateGEP(element, place.at, offsets);
}

/// Of a cell of lanes those that begin at a place known here.
FunctionEmitter::V FunctionEmitter::lanes_of(const Load &n, V cell) {
  auto *first = llvm::dyn_cast<llvm::ConstantInt>(expr(n.index[0]));
  ensure(first && lanes_->view->lane_stride(n.index[0]) == 1,
         "lanes of a cell are read from a place not known");
  auto *all = llvm::cast<llvm::FixedVectorType>(llvm::cast<llvm::AllocaInst>(cell)->getAllocatedType());
  V lanes = b_.CreateLoad(all, cell);
  if (all->getNumElements() == lanes_->count) return lanes;
  std::vector<int> part(lanes_->count);
  for (uint32_t l = 0; l < lanes_->count; ++l) part[l] = static_cast<int>(first->getZExtValue() + l);
  return b_.CreateShuffleVector(lanes, part);
}

void FunctionEmitter::store_lanes(const Store &n, V cell, V value) {
  V first = expr(n.index[0]);
  ensure(
      first == b_.getInt64(0) && value->getType() == llvm::cast<llvm::AllocaInst>(cell)->getAllocatedType(),
      "a part of the lanes of a cell is written");
  if (lanes_->mask) value = b_.CreateSelect(lanes_->mask, value, b_.CreateLoad(value->getType(), cell));
  b_.CreateStore(value, cell);
}

FunctionEmitter::V FunctionEmitter::widen_load(const Load &n) {
  DType t = n.buf->dtype;
  if (auto block = lanes_->blocks ? lanes_->blocks->view->block_of(n) : std::nullopt)
    return from_memory(lanes_->blocks->values[*block][lanes_->blocks->iteration], t);
  if (auto count = lanes_->counts.find(n.buf.get()); count != lanes_->counts.end())
    return splat(b_.CreateLoad(type(t), count->second));
  if (auto cell = lanes_->cells.find(n.buf.get()); cell != lanes_->cells.end())
    return b_.CreateLoad(llvm::FixedVectorType::get(type(t), lanes_->count), cell->second);
  if (auto cell = lane_cells_.find(n.buf.get()); cell != lane_cells_.end()) return lanes_of(n, cell->second);
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
    if (!mask) read_page_ahead(place.at, uint64_t{lanes_->count} * item_size(t));
    v = mask ? b_.CreateMaskedLoad(lanes, place.at, align, mask, none)
             : static_cast<V>(b_.CreateAlignedLoad(lanes, place.at, align));
  } else if (is_short_stride(place.step) && (!mask || target_.has_masks(bit_width(t)))) {
    v = interleaved_load(n, place);
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
