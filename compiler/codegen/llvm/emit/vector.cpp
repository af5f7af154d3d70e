// Emits each statement and expression for all lanes, under the mask of the active lanes.
#include "codegen/llvm/emit/vector.h"

#include <llvm/Analysis/VectorUtils.h>

#include "codegen/llvm/emit/interleaved_load.h"
#include "codegen/llvm/emit/reductions.h"
#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/statements.h"
#include "codegen/llvm/emit/streams.h"
#include "codegen/llvm/emit/vector_while.h"
#include "ir/loops.h"
#include "ir/match.h"

namespace kw {

using llvm::BasicBlock;
using V = llvm::Value *;

/// Returns whether lanes may leave their iteration of the loop around the branch.
static bool may_jump(const If &n) { return jumps_of(n.yes).any() || (n.no && jumps_of(n.no).any()); }

/// Returns false if the statement is emitted as it is outside vector loops.
bool VectorEmitter::statement(const Stmt &s) {
  vec_.memo.clear();
  if (const Store *n = as<Store>(s)) return store(*n), true;
  if (const Alloc *n = as<Alloc>(s)) return allocate(*n), true;
  if (const If *n = as<If>(s)) {
    if (const ArgReduction *chosen = vec_.view->arg_reduction_at(*n))
      return reductions().update(*chosen), true;
    if (vec_.view->is_divergent(n->cond) || may_jump(*n)) return branch(*n), true;
  }
  if (const While *n = as<While>(s)) return VectorWhileEmitter(cx_).emit(*n), true;
  if (const Jump *n = as<Jump>(s)) return VectorWhileEmitter(cx_).jump(*n), true;
  const Let *n = as<Let>(s);
  if (!n || !vec_.view->is_divergent(n->value)) return false;
  // A name that grows by a constant from lane to lane needs no vector register. widen_ref and place_of add
  // the stride to the value of lane 0.
  if (n->value.dtype() == DType::i64 && vec_.view->lane_stride(n->value))
    cx_.values[n->sym.get()] = scalars().expr(n->value);  // of lane 0
  else
    vec_.values[n->sym.get()] = widen(n->value);
  return true;
}

/// Makes a cell of the body a vector, with a value for each lane.
void VectorEmitter::allocate(const Alloc &n) {
  llvm::IRBuilder<> at_entry(cx_.entry, cx_.entry->begin());
  auto *lanes = llvm::FixedVectorType::get(ops().type(n.buf->dtype), vec_.count);
  vec_.cells[n.buf.get()] = at_entry.CreateAlloca(lanes, nullptr, n.buf->sym->name);
}

/// Stores a value of each active lane. Inactive lanes keep the contents of cells and of memory.
void VectorEmitter::store(const Store &n) {
  V value = widen(n.value);
  if (auto block = vec_.blocks ? vec_.blocks->view->block_of(n) : std::nullopt) {
    vec_.blocks->values[*block][vec_.blocks->iteration] = value;
    return;
  }
  if (n.buf->space == Space::registers && n.buf->rank() == 0) {
    if (auto count = vec_.counts.find(n.buf.get()); count != vec_.counts.end()) {
      V same = llvm::getSplatValue(value);
      ensure(same, "what counts the iterations of a while differs between lanes");
      b_.CreateStore(same, count->second);
      return;
    }
    V cell = entry_of(vec_.cells, n.buf.get());
    // A lane that reads such a cell has written it.
    bool all = vec_.mask == vec_.begun && vec_.view->is_own(n.buf);
    if (vec_.mask && !all) value = b_.CreateSelect(vec_.mask, value, b_.CreateLoad(value->getType(), cell));
    b_.CreateStore(value, cell);
    return;
  }
  if (auto cell = cx_.vector_cells.find(n.buf.get()); cell != cx_.vector_cells.end())
    return store_to_cell(n, cell->second, value);
  DType t = n.buf->dtype;
  if (t == DType::b1) value = b_.CreateZExt(value, ops().shaped_as(value, b_.getInt8Ty()));
  // Forms of the access by the stride of the lanes: 1 contiguous, -1 reversed, any other a scatter.
  VectorPlace place = place_of(n.buf, n.index);
  llvm::Align align(std::max(bit_width(t), 8u) / 8);
  V mask = vec_.mask;
  if (place.step == -1) {  // lane 0 is the last in memory
    place.at = b_.CreateConstGEP1_64(ops().memory_type(t), place.at, uint64_t{1} - vec_.count);
    value = reversed(value);
    mask = mask ? reversed(mask) : nullptr;
  }
  if (place.step != 1 && place.step != -1)
    b_.CreateMaskedScatter(value, addresses(place, ops().memory_type(t)), align,
                           mask ? mask : splat(b_.getInt1(true)));
  else if (mask)
    b_.CreateMaskedStore(value, place.at, align, mask);
  else if (cx_.streaming && place.step == 1 && cx_.only_written.count(n.buf.get()))
    streams().store(value, place.at);
  else
    b_.CreateAlignedStore(value, place.at, align);
}

/// Returns whether a lane is set, in a mask or in words that are all ones or all zeros.
llvm::Value *VectorEmitter::any_lane(V mask) {
  V together = b_.CreateOrReduce(mask);
  return together->getType()->isIntegerTy(1) ? together : b_.CreateIsNotNull(together);
}

llvm::Value *VectorEmitter::splat(V v) {
  return v->getType()->isVectorTy() ? v : b_.CreateVectorSplat(vec_.count, v);
}

/// Emits the body under the mask, with a branch around it for the case that no lane is active.
void VectorEmitter::under_mask(V mask, const std::function<void(llvm::BasicBlock *)> &body) {
  BasicBlock *some = block("some"), *done = block("joined");
  b_.CreateCondBr(any_lane(mask), some, done);
  b_.SetInsertPoint(some);
  {
    Scoped narrowed(vec_.mask, mask);
    // Values that the body computes do not dominate the code behind it.
    Scoped memo(cx_.memo, cx_.memo);
    Scoped wide_memo(vec_.memo, vec_.memo);
    body(done);
  }
  b_.SetInsertPoint(done);
}

/// Emits both sides one after the other, each under the mask of its lanes:
///     if c: A else: B   →   if any(mask & c): A under mask & c; if any(mask & ~c): B under mask & ~c
/// A predicated side runs without the branch around it.
void VectorEmitter::branch(const If &n) {
  V cond = widen(n.cond);
  V yes = and_mask(vec_.mask, cond), no = n.no ? and_mask(vec_.mask, b_.CreateNot(cond)) : nullptr;
  auto run = [&](V mask, const Stmt &body) {
    if (!n.predicated)
      return under_mask(mask, [&](BasicBlock *done) { statements().emit(body), b_.CreateBr(done); });
    Scoped narrowed(vec_.mask, mask);
    statements().emit(body);
  };
  run(yes, n.yes);
  if (n.no) run(no, n.no);
  cx_.memo.clear(), vec_.memo.clear();
  if (may_jump(n)) VectorWhileEmitter(cx_).mask_out_exited_lanes();
}

/// Returns the value of an expression as a vector over the lanes.
llvm::Value *VectorEmitter::widen(const Expr &e) {
  if (!vec_.view->is_divergent(e)) return splat(scalars().expr(e));
  bool shared = e.p.use_count() > 1;
  if (shared)
    if (auto found = vec_.memo.find(e); found != vec_.memo.end()) return found->second;
  V v = widen_uncached(e);
  if (shared) vec_.memo[e] = v;
  return v;
}

llvm::Value *VectorEmitter::widen_uncached(const Expr &e) {
  DType t = e.dtype();
  // Counters of a `while` are uniform: an operation on them runs once.
  auto once_if_same = [&](auto op, auto... lanes) {
    return (llvm::getSplatValue(lanes) && ...) ? splat(op(llvm::getSplatValue(lanes)...)) : op(lanes...);
  };
  return match(
      e, [&](const Const &) { return splat(scalars().expr(e)); }, [&](const Ref &n) { return widen_ref(n); },
      [&](const Load &n) { return widen_load(n); },
      [&](const Unary &n) { return once_if_same([&](V a) { return ops().unary(n.op, t, a); }, widen(n.a)); },
      [&](const Binary &n) {
        V a = widen(n.a), b = widen(n.b);
        return once_if_same([&](V x, V y) { return ops().binary(n.op, n.a.dtype(), x, y); }, a, b);
      },
      [&](const Logic &n) { return widen_logic(n); }, [&](const Select &n) { return widen_select(n); },
      [&](const Cast &n) {
        return once_if_same([&](V a) { return ops().convert(n.a.dtype(), t, a, n.in_range); }, widen(n.a));
      },
      [&](const Call &n) {
        std::vector<V> args;
        for (const Expr &a : n.args) args.push_back(widen(a));
        return ops().call(n.fn, n.args[0].dtype(), t, args);
      });
}

/// Returns the value of an iterator or of a Let in each lane.
llvm::Value *VectorEmitter::widen_ref(const Ref &n) {
  if (auto found = vec_.values.find(n.sym.get()); found != vec_.values.end()) return found->second;
  int64_t step = vec_.view->lane_stride_of(n.sym).value();
  auto *lanes = llvm::FixedVectorType::get(b_.getInt64Ty(), vec_.count);
  V steps = b_.CreateStepVector(lanes);
  if (step != 1) steps = b_.CreateMul(steps, llvm::ConstantInt::getSigned(lanes, step));
  return b_.CreateAdd(splat(entry_of(cx_.values, n.sym.get())), steps);
}

/// Returns the place of lane 0, and how the place moves from lane to lane.
VectorPlace VectorEmitter::place_of(const Buf &b, const std::vector<Expr> &index) {
  const Memory &m = entry_of(cx_.buffers, b.get());
  llvm::Type *element = ops().memory_type(b->dtype);
  VectorPlace out{m.base};
  // With j the iterator of the vector loop and a of two dimensions:
  //     a[i, j]        step = 1
  //     a[j, i]        by = the row stride, or step if the stride is a constant
  //     a[i, x[j]]     offsets = a vector with the subscript of each lane
  // `row`: in lane 0; `moves`: the stride of the lanes if it is no constant.
  V row = nullptr, moves = nullptr;
  int64_t step = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    auto scaled = [&](V v) {
      if (!m.strides[d]) return v;
      return b_.CreateMul(v, v->getType()->isVectorTy() ? splat(m.strides[d]) : m.strides[d]);
    };
    auto grows = vec_.view->lane_stride(index[d]);
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
    V here = scaled(scalars().expr(index[d]));
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
  auto *lanes = llvm::FixedVectorType::get(b_.getInt64Ty(), vec_.count);
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

/// Returns the address of each lane.
llvm::Value *VectorEmitter::addresses(const VectorPlace &place, llvm::Type *element) {
  auto *lanes = llvm::FixedVectorType::get(b_.getInt64Ty(), vec_.count);
  V offsets = place.offsets;
  if (place.by)
    offsets = b_.CreateMul(b_.CreateStepVector(lanes), splat(place.by));
  else if (!offsets)
    offsets =
        b_.CreateMul(b_.CreateStepVector(lanes), llvm::ConstantInt::getSigned(lanes, place.step.value()));
  return b_.CreateGEP(element, place.at, offsets);
}

/// Returns the lanes of a vector cell that begin at a constant place.
llvm::Value *VectorEmitter::part_of_cell(const Load &n, V cell) {
  auto *first = llvm::dyn_cast<llvm::ConstantInt>(scalars().expr(n.index[0]));
  ensure(first && vec_.view->lane_stride(n.index[0]) == 1, "lanes of a cell are read from a place not known");
  auto *all = llvm::cast<llvm::FixedVectorType>(llvm::cast<llvm::AllocaInst>(cell)->getAllocatedType());
  V lanes = b_.CreateLoad(all, cell);
  if (all->getNumElements() == vec_.count) return lanes;
  std::vector<int> part(vec_.count);
  for (uint32_t l = 0; l < vec_.count; ++l) part[l] = static_cast<int>(first->getZExtValue() + l);
  return b_.CreateShuffleVector(lanes, part);
}

/// Writes all lanes of a cell; inactive lanes keep their values.
void VectorEmitter::store_to_cell(const Store &n, V cell, V value) {
  V first = scalars().expr(n.index[0]);
  ensure(
      first == b_.getInt64(0) && value->getType() == llvm::cast<llvm::AllocaInst>(cell)->getAllocatedType(),
      "a part of the lanes of a cell is written");
  if (vec_.mask) value = b_.CreateSelect(vec_.mask, value, b_.CreateLoad(value->getType(), cell));
  b_.CreateStore(value, cell);
}

/// Loads the element of each active lane. Cells and transposed blocks are in registers. For memory, the
/// stride of the lanes decides:
///     1 a contiguous vector, -1 a reversed one, up to 4 vectors and shuffles, any other a gather
/// If the target lacks masks for the type, short strides under a mask take the gather too. Inactive lanes
/// read nothing and hold 0.
llvm::Value *VectorEmitter::widen_load(const Load &n) {
  DType t = n.buf->dtype;
  if (auto block = vec_.blocks ? vec_.blocks->view->block_of(n) : std::nullopt)
    return ops().from_memory(vec_.blocks->values[*block][vec_.blocks->iteration], t);
  if (auto count = vec_.counts.find(n.buf.get()); count != vec_.counts.end())
    return splat(b_.CreateLoad(ops().type(t), count->second));
  if (auto cell = vec_.cells.find(n.buf.get()); cell != vec_.cells.end())
    return b_.CreateLoad(llvm::FixedVectorType::get(ops().type(t), vec_.count), cell->second);
  if (auto cell = cx_.vector_cells.find(n.buf.get()); cell != cx_.vector_cells.end())
    return part_of_cell(n, cell->second);
  VectorPlace place = place_of(n.buf, n.index);
  auto *lanes = llvm::FixedVectorType::get(ops().memory_type(t), vec_.count);
  llvm::Align align(std::max(bit_width(t), 8u) / 8);
  V mask = vec_.mask, none = llvm::Constant::getNullValue(lanes), v = nullptr;
  if (place.step == -1) {  // lane 0 is the last in memory
    V first = b_.CreateConstGEP1_64(ops().memory_type(t), place.at, uint64_t{1} - vec_.count);
    v = mask ? b_.CreateMaskedLoad(lanes, first, align, reversed(mask), none)
             : static_cast<V>(b_.CreateAlignedLoad(lanes, first, align));
    v = reversed(v);
  } else if (place.step == 1) {
    if (!mask) streams().read_page_ahead(place.at, uint64_t{vec_.count} * item_size(t));
    v = mask ? b_.CreateMaskedLoad(lanes, place.at, align, mask, none)
             : static_cast<V>(b_.CreateAlignedLoad(lanes, place.at, align));
  } else if (is_short_stride(place.step) && (!mask || target().has_masks(bit_width(t)))) {
    v = InterleavedLoadEmitter(cx_).emit(n, place);
  } else {
    v = b_.CreateMaskedGather(lanes, addresses(place, ops().memory_type(t)), align,
                              mask ? mask : splat(b_.getInt1(true)), none);
  }
  return t == DType::b1 ? b_.CreateICmpNE(v, none) : v;
}

/// Evaluates one side of a lazy operator for the lanes that need it; the other lanes have no meaning.
llvm::Value *VectorEmitter::widen_side(const Expr &e, V mask) {
  BasicBlock *before = b_.GetInsertBlock(), *end = nullptr;
  V value = nullptr;
  under_mask(mask, [&](BasicBlock *done) {
    value = widen(e);
    end = b_.GetInsertBlock();
    b_.CreateBr(done);
  });
  llvm::PHINode *phi = b_.CreatePHI(value->getType(), 2);
  phi->addIncoming(llvm::Constant::getNullValue(value->getType()), before);
  phi->addIncoming(value, end);
  return phi;
}

/// Selects lane by lane. A lazy side runs only for the lanes that take it; common subexpressions of both
/// sides run once before them.
llvm::Value *VectorEmitter::widen_select(const Select &n) {
  V cond = widen(n.cond);
  if (!n.eager_yes || !n.eager_no) scalars().evaluate_common(n.yes, n.no);
  V yes = n.eager_yes ? widen(n.yes) : widen_side(n.yes, and_mask(vec_.mask, cond));
  V no = n.eager_no ? widen(n.no) : widen_side(n.no, and_mask(vec_.mask, b_.CreateNot(cond)));
  return b_.CreateSelect(cond, yes, no);
}

/// Evaluates `b` in the lanes that `a` leaves undecided. In the others `a` alone determines the result.
llvm::Value *VectorEmitter::widen_logic(const Logic &n) {
  V a = widen(n.a);
  V b = widen_side(n.b, and_mask(vec_.mask, n.is_and ? a : b_.CreateNot(a)));
  return n.is_and ? b_.CreateAnd(a, b) : b_.CreateOr(a, b);
}

/// Returns a mask of `count` lanes, of which the first `rest` are set.
llvm::Value *mask_of_first(EmitContext &cx, V rest, uint32_t count) {
  V most = cx.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rest, cx.b.getInt64(count));
  if (cx.shared.target.has_mask_registers() && count >= 8) {  // a mask register: as many ones as active lanes
    V every = llvm::ConstantInt::getAllOnesValue(cx.b.getInt64Ty());
    V ones = cx.b.CreateNot(cx.b.CreateShl(every, most));
    // A shift by 64 has no meaning.
    if (count == 64) ones = cx.b.CreateSelect(cx.b.CreateICmpEQ(most, cx.b.getInt64(64)), every, ones);
    return cx.b.CreateBitCast(cx.b.CreateTrunc(ones, cx.b.getIntNTy(count)),
                              llvm::FixedVectorType::get(cx.b.getInt1Ty(), count));
  }
  V all = cx.b.CreateVectorSplat(count, cx.b.CreateTrunc(most, cx.b.getInt32Ty()));
  return cx.b.CreateICmpULT(cx.b.CreateStepVector(all->getType()), all);
}

}  // namespace kw
