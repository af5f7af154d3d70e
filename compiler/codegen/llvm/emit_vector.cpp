// Loops of the kind vector: `width` iterations at once, in chunks; what is left of them in chunks of one
// register with a mask, or one by one. Accumulators from outside have a lane each and are folded at the end.
// A loop that has no form over lanes runs serially, which means the same.
#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "ir/match.h"

namespace kw {

using llvm::BasicBlock;

bool FunctionEmitter::runs_in_vectors(const For &n) const {
  bool is_power = (n.width & (n.width - 1)) == 0;
  return !lanes_ && n.kind == ForKind::vector && n.width >= 2 && n.width <= 64 && is_power;
}

/// Lanes of the chunks that run what is left; 0: one by one.
uint32_t FunctionEmitter::rest_lanes(const LaneView &view, uint32_t width) const {
  uint32_t narrowest = view.narrowest_element() ? view.narrowest_element() : 32;
  if (!target_.has_masks(narrowest) ||
      ((view.work().gathers || view.work().scatters) && !target_.has_gather()))
    return 0;
  uint32_t widest = std::max({view.widest_element(), view.widest_value(), 8u});
  return std::min(width, std::max(target_.vector_bytes() * 8 / widest, 2u));
}

/// The first `rest` of `count` lanes; rest is at least 1.
FunctionEmitter::V FunctionEmitter::rest_mask(V rest, uint32_t count) {
  V most = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rest, b_.getInt64(count));
  if (target_.has("avx512f") && count >= 8) {  // a mask register: as many ones as lanes run
    V ones = b_.CreateLShr(llvm::ConstantInt::getAllOnesValue(b_.getInt64Ty()),
                           b_.CreateSub(b_.getInt64(64), most));
    return b_.CreateBitCast(b_.CreateTrunc(ones, b_.getIntNTy(count)),
                            llvm::FixedVectorType::get(b_.getInt1Ty(), count));
  }
  V all = b_.CreateVectorSplat(count, b_.CreateTrunc(most, b_.getInt32Ty()));
  return b_.CreateICmpULT(b_.CreateStepVector(all->getType()), all);
}

/// The value that adds nothing.
FunctionEmitter::V FunctionEmitter::identity_of(const OuterSum &sum, uint32_t count) {
  llvm::Type *t = type(sum.cell->dtype);
  V one = nullptr;
  uint32_t bits = bit_width(sum.cell->dtype);
  bool largest = sum.op == BinOp::min;
  if (is_float(sum.cell->dtype)) {
    one = llvm::ConstantFP::getInfinity(t, !largest);
  } else if (sum.op == BinOp::min || sum.op == BinOp::max) {
    llvm::APInt end =
        is_signed_int(sum.cell->dtype)
            ? (largest ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits))
            : (largest ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getZero(bits));
    one = llvm::ConstantInt::get(t, end);
  } else if (sum.op == BinOp::bit_and) {
    one = llvm::Constant::getAllOnesValue(t);
  } else {
    one = llvm::ConstantInt::get(t, sum.op == BinOp::mul ? 1 : 0);
  }
  return b_.CreateVectorSplat(count, one);
}

FunctionEmitter::SumCells FunctionEmitter::open_sums(const LaneView &view, uint32_t count) {
  SumCells out;
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  for (const OuterSum &sum : view.sums()) {
    V identity = identity_of(sum, count);
    out.emplace_back(sum, at_entry.CreateAlloca(identity->getType(), nullptr, sum.cell->sym->name));
    b_.CreateStore(identity, out.back().second);
  }
  return out;
}

/// Lane l takes up lane l + half, again and again, until `to` lanes are left.
FunctionEmitter::V FunctionEmitter::folded(const OuterSum &sum, V lanes, uint32_t from, uint32_t to) {
  for (uint32_t half = from / 2; half >= to && half >= 1; half /= 2) {
    std::vector<int> low(half), high(half);
    for (uint32_t l = 0; l < half; ++l) low[l] = static_cast<int>(l), high[l] = static_cast<int>(l + half);
    V a = b_.CreateShuffleVector(lanes, low), b = b_.CreateShuffleVector(lanes, high);
    lanes = binary(sum.op, sum.cell->dtype, a, b);
  }
  return lanes;
}

void FunctionEmitter::narrow_sums(SumCells &sums, uint32_t from, uint32_t to) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  for (auto &[sum, cell] : sums) {
    V lanes = b_.CreateLoad(llvm::FixedVectorType::get(type(sum.cell->dtype), from), cell);
    V fewer = folded(sum, lanes, from, to);
    cell = at_entry.CreateAlloca(fewer->getType(), nullptr, sum.cell->sym->name);
    b_.CreateStore(fewer, cell);
  }
}

/// Adds what the lanes gathered to the accumulators.
void FunctionEmitter::close_sums(const SumCells &sums, uint32_t count) {
  for (const auto &[sum, cell] : sums) {
    V lanes = b_.CreateLoad(llvm::FixedVectorType::get(type(sum.cell->dtype), count), cell);
    V gathered = b_.CreateExtractElement(folded(sum, lanes, count, 1), uint64_t{0});
    V target = cells_.at(sum.cell.get());
    V before = b_.CreateLoad(type(sum.cell->dtype), target);
    b_.CreateStore(binary(sum.op, sum.cell->dtype, before, gathered), target);
  }
}

/// Calls body(from) if that is below to.
template <class F>
void FunctionEmitter::in_one_chunk(V from, V to, F &&body) {
  BasicBlock *chunk = block("vector"), *done = block("done");
  b_.CreateCondBr(b_.CreateICmpULT(from, to), chunk, done);
  b_.SetInsertPoint(chunk);
  body(from);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  memo_.clear();
}

/// Calls body(k) for k = from, from + size, … below to. Looks at the cancel flag after each chunk, or after
/// stretches of them.
template <class F>
void FunctionEmitter::in_chunks(V from, V to, uint32_t size, bool polls, F &&body) {
  BasicBlock *before = b_.GetInsertBlock(), *stretch = block("stretch"), *chunk = block("vectors"),
             *end = block("end"), *more = block("more"), *done = block("done");
  b_.CreateCondBr(b_.CreateICmpULT(from, to), stretch, done);
  b_.SetInsertPoint(stretch);
  llvm::PHINode *start = b_.CreatePHI(b_.getInt64Ty(), 2);
  start->addIncoming(from, before);
  V reach = b_.CreateAdd(start, b_.getInt64(polls ? size : poll_interval), "", true, true);
  V limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, to, reach);
  b_.CreateBr(chunk);
  b_.SetInsertPoint(chunk);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(start, stretch);
  body(k);
  V next = b_.CreateAdd(k, b_.getInt64(size), "", true, true);
  k->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, limit), chunk, end);
  b_.SetInsertPoint(end);
  b_.CreateCondBr(b_.CreateICmpULT(limit, to), more, done);
  b_.SetInsertPoint(more);
  start->addIncoming(limit, more);
  poll(stretch);
  b_.SetInsertPoint(done);
  memo_.clear();
}

/// The iterations k, k + 1, … of the loop.
void FunctionEmitter::lane_body(const For &n, LaneView &view, V lo, V k, uint32_t count, const SumCells &sums,
                                V mask) {
  Lanes here{&view, n.step, count, iteration(n, lo, k), mask};
  values_[n.iter.get()] = here.first;
  for (const auto &[sum, cell] : sums) here.cells[sum.cell.get()] = cell;
  lanes_ = &here;
  statements(n.body);
  lanes_ = nullptr;
  memo_.clear();
}

/// True when there are `width` iterations at most, because the end of the loop is min(x, width).
static bool fits_one_chunk(const For &n) {
  const Binary *least = as<Binary>(n.hi);
  return n.step == 1 && as_int(n.lo) == 0 && least && least->op == BinOp::min &&
         as_int(least->b).value_or(n.width + 1) <= n.width;
}

/// Whole chunks, then what is left of the iterations.
void FunctionEmitter::vector_loop(const For &n, LaneView &view, V lo, V trips) {
  uint32_t width = n.width;
  bool polls = contains_loop(n.body), one = fits_one_chunk(n);
  V zero = b_.getInt64(0), whole = b_.CreateAnd(trips, ~uint64_t{width - 1});
  SumCells sums = open_sums(view, width);
  auto run = [&](V from, V to, uint32_t lanes, bool once, auto &&body) {
    once ? in_one_chunk(from, to, body) : in_chunks(from, to, lanes, polls, body);
  };
  run(zero, whole, width, one, [&](V k) { lane_body(n, view, lo, k, width, sums, nullptr); });
  auto *count = llvm::dyn_cast<llvm::ConstantInt>(trips);
  if (count && count->getZExtValue() % width == 0) return close_sums(sums, width);
  if (uint32_t fewer = rest_lanes(view, width)) {
    narrow_sums(sums, width, fewer);
    run(whole, trips, fewer, fewer == width,
        [&](V k) { lane_body(n, view, lo, k, fewer, sums, rest_mask(b_.CreateSub(trips, k), fewer)); });
    return close_sums(sums, fewer);
  }
  close_sums(sums, width);
  plain_loop(n, iteration(n, lo, whole), b_.CreateSub(trips, whole), polls);
}

}  // namespace kw
