// Loops of the kind vector: `width` iterations at once, in chunks; what is left of them in chunks of one
// register with a mask, or one by one. Scalars from outside gather in a lane each and are folded at the end.
// Each has a vector form (transform/lowering/settle_vector_loops).
#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

using llvm::BasicBlock;

bool FunctionEmitter::runs_in_vectors(const For &n) const { return !lanes_ && n.kind == ForKind::vector; }

/// Lanes of the chunks that run what is left.
uint32_t FunctionEmitter::rest_lanes(const VectorizationAnalysis &view, uint32_t width) const {
  uint32_t widest = std::max({view.widest_element(), view.widest_value(), 8u});
  return std::min(width, std::max(target_.vector_bytes() * 8 / widest, 2u));
}

/// The first `rest` of `count` lanes.
FunctionEmitter::V FunctionEmitter::rest_mask(V rest, uint32_t count) {
  V most = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rest, b_.getInt64(count));
  if (target_.has("avx512f") && count >= 8) {  // a mask register: as many ones as lanes run
    V every = llvm::ConstantInt::getAllOnesValue(b_.getInt64Ty());
    V ones = b_.CreateNot(b_.CreateShl(every, most));
    if (count == 64) ones = b_.CreateSelect(b_.CreateICmpEQ(most, b_.getInt64(64)), every, ones);
    return b_.CreateBitCast(b_.CreateTrunc(ones, b_.getIntNTy(count)),
                            llvm::FixedVectorType::get(b_.getInt1Ty(), count));
  }
  V all = b_.CreateVectorSplat(count, b_.CreateTrunc(most, b_.getInt32Ty()));
  return b_.CreateICmpULT(b_.CreateStepVector(all->getType()), all);
}

/// The value that adds nothing.
FunctionEmitter::V FunctionEmitter::identity_of(const Reduction &sum, uint32_t count) {
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

FunctionEmitter::V FunctionEmitter::cell_of_lanes(llvm::Type *element, uint32_t count,
                                                  const std::string &name) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  return at_entry.CreateAlloca(llvm::FixedVectorType::get(element, count), nullptr, name);
}

FunctionEmitter::OuterCells FunctionEmitter::open_cells(const VectorizationAnalysis &view, uint32_t count) {
  OuterCells out;
  for (const Reduction &sum : view.reductions()) {
    out.sums.emplace_back(sum, cell_of_lanes(type(sum.cell->dtype), count, sum.cell->sym->name));
    b_.CreateStore(identity_of(sum, count), out.sums.back().second);
  }
  for (const ArgReduction &s : view.arg_reductions()) out.bests.push_back(open_best(s, count));
  return out;
}

/// Lanes 0 … half - 1, and those behind them.
std::pair<FunctionEmitter::V, FunctionEmitter::V> FunctionEmitter::halves(V lanes, uint32_t half) {
  std::vector<int> low(half), high(half);
  for (uint32_t l = 0; l < half; ++l) low[l] = static_cast<int>(l), high[l] = static_cast<int>(l + half);
  return {b_.CreateShuffleVector(lanes, low), b_.CreateShuffleVector(lanes, high)};
}

/// Lane l takes up lane l + half, again and again, until `to` lanes are left.
FunctionEmitter::V FunctionEmitter::folded(const Reduction &sum, V lanes, uint32_t from, uint32_t to) {
  for (uint32_t half = from / 2; half >= to && half >= 1; half /= 2) {
    auto [a, b] = halves(lanes, half);
    lanes = binary(sum.op, sum.cell->dtype, a, b);
  }
  return lanes;
}

void FunctionEmitter::narrow_cells(OuterCells &outer, uint32_t from, uint32_t to) {
  for (auto &[sum, cell] : outer.sums) {
    llvm::Type *t = type(sum.cell->dtype);
    V lanes = b_.CreateLoad(llvm::FixedVectorType::get(t, from), cell);
    V fewer = cell_of_lanes(t, to, sum.cell->sym->name);
    b_.CreateStore(folded(sum, lanes, from, to), fewer);
    cell = fewer;
  }
  for (BestCells &cells : outer.bests) narrow_best(cells, from, to);
}

/// Adds what the lanes gathered to the accumulators, and lets the scalars of selections be what they kept.
void FunctionEmitter::close_cells(const OuterCells &outer, const For &n, const VectorizationAnalysis &view,
                                  V lo, uint32_t count) {
  for (const auto &[sum, cell] : outer.sums) {
    V lanes = b_.CreateLoad(llvm::FixedVectorType::get(type(sum.cell->dtype), count), cell);
    V gathered = b_.CreateExtractElement(folded(sum, lanes, count, 1), uint64_t{0});
    V target = entry_of(cells_, sum.cell.get());
    V before = b_.CreateLoad(type(sum.cell->dtype), target);
    b_.CreateStore(binary(sum.op, sum.cell->dtype, before, gathered), target);
  }
  for (const BestCells &cells : outer.bests) close_best(cells, n, view, lo, count);
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

/// Calls body(k) for k = from, from + size, … below to, which are few.
template <class F>
void FunctionEmitter::in_few_chunks(V from, V to, uint32_t size, F &&body) {
  BasicBlock *before = b_.GetInsertBlock(), *chunk = block("vectors"), *done = block("done");
  b_.CreateCondBr(b_.CreateICmpULT(from, to), chunk, done);
  b_.SetInsertPoint(chunk);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(from, before);
  body(k);
  V next = b_.CreateAdd(k, b_.getInt64(size), "", true, true);
  k->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, to), chunk, done);
  b_.SetInsertPoint(done);
  memo_.clear();
}

/// Calls body(k) for k = from, from + size, … below to. Looks at the cancel flag after each chunk, or after
/// stretches of them.
void FunctionEmitter::in_chunks(V from, V to, uint32_t size, bool polls, llvm::function_ref<void(V)> body) {
  BasicBlock *before = b_.GetInsertBlock(), *stretch = block("stretch"), *chunk = block("vectors"),
             *end = block("end"), *more = block("more"), *done = block("done");
  // the first stretch ends at a place that loops around this one do not change
  V reach = b_.getInt64(polls ? size : poll_interval);
  V first_limit =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, to, b_.CreateAdd(from, reach, "", true, true));
  b_.CreateCondBr(b_.CreateICmpULT(from, to), stretch, done);
  b_.SetInsertPoint(stretch);
  llvm::PHINode *start = b_.CreatePHI(b_.getInt64Ty(), 2), *limit = b_.CreatePHI(b_.getInt64Ty(), 2);
  start->addIncoming(from, before);
  limit->addIncoming(first_limit, before);
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
  limit->addIncoming(
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, to, b_.CreateAdd(limit, reach, "", true, true)), more);
  poll(stretch);
  b_.SetInsertPoint(done);
  memo_.clear();
}

/// The iterations k, k + 1, … of the loop.
void FunctionEmitter::lane_body(const For &n, VectorizationAnalysis &view, V lo, V k, uint32_t count,
                                const OuterCells &outer, V mask, V rest) {
  Lanes here{&view, n.step, count, iteration(n, lo, k), k, mask, mask, rest};
  values_[n.iter.get()] = here.first;
  here.outer = &outer;
  for (const auto &[sum, cell] : outer.sums) here.cells[sum.cell.get()] = cell;
  lanes_ = &here;
  statements(n.body);
  lanes_ = nullptr;
  memo_.clear();
}

/// Returns whether one vector iteration executes the whole loop.
bool FunctionEmitter::fits_one_chunk(const For &n) {
  return n.kind == ForKind::vector && n.how.max_trips > 0 && n.how.max_trips <= n.how.vector_width;
}

/// True of a vector loop that fills a cell of as many lanes.
bool FunctionEmitter::is_row(const For &n) {
  auto fills = [](const auto &self, const Stmt &root) -> bool {
    for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
      const Store *to = as<Store>(*s);
      if (to && to->buf->space == Space::registers && to->buf->rank() == 1) return true;
      if (const If *branch = as<If>(*s); branch && (self(self, branch->yes) || self(self, branch->no)))
        return true;
      if (const Seq *list = as<Seq>(*s))
        for (size_t i = 0; i + 1 < list->items.size(); ++i)
          if (self(self, list->items[i])) return true;
    }
    return false;
  };
  return n.kind == ForKind::vector && fills(fills, n.body);
}

/// The lanes from lo to hi, of which there is one at least.
FunctionEmitter::V FunctionEmitter::row_mask(V lo, V hi, uint32_t count) {
  V below = rest_mask(hi, count);
  if (auto *first = llvm::dyn_cast<llvm::ConstantInt>(lo); first && first->isZero()) return below;
  if (target_.has("avx512f") && count >= 8) {
    V ones = b_.CreateShl(llvm::ConstantInt::getAllOnesValue(b_.getInt64Ty()), lo);
    V from = b_.CreateBitCast(b_.CreateTrunc(ones, b_.getIntNTy(count)), below->getType());
    return b_.CreateAnd(below, from);
  }
  V all = b_.CreateVectorSplat(count, b_.CreateTrunc(lo, b_.getInt32Ty()));
  return b_.CreateAnd(below, b_.CreateICmpUGE(b_.CreateStepVector(all->getType()), all));
}

/// Iterations that have a lane of their own each, all of them or, with a mask, some.
void FunctionEmitter::row(const For &n, VectorizationAnalysis &view, V lo, V trips) {
  V zero = b_.getInt64(0), all = b_.getInt64(n.how.vector_width), from = lo, count = trips;
  auto body = [&](V mask) {
    OuterCells outer = open_cells(view, n.how.vector_width);
    lane_body(n, view, zero, zero, n.how.vector_width, outer, mask);
    close_cells(outer, n, view, zero, n.how.vector_width);
  };
  if (count == all) return body(nullptr);
  BasicBlock *part = block("part"), *done = block("done");
  bool may_be_whole = !n.how.max_trips || n.how.max_trips >= n.how.vector_width;
  if (may_be_whole && !always_masked(view, target_)) {
    BasicBlock *whole = block("row"), *rest = block("rest");
    b_.CreateCondBr(b_.CreateICmpEQ(count, all), whole, rest);
    b_.SetInsertPoint(whole);
    body(nullptr);
    b_.CreateBr(done);
    b_.SetInsertPoint(rest);
  }
  b_.CreateCondBr(b_.CreateICmpEQ(count, zero), done, part);
  b_.SetInsertPoint(part);
  body(row_mask(from, b_.CreateAdd(from, count), n.how.vector_width));
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  memo_.clear();
}

/// The loop in stretches whose iterations have a number each.
void FunctionEmitter::numbered_loop(const For &n, VectorizationAnalysis &view, V lo, V trips) {
  auto *count = llvm::dyn_cast<llvm::ConstantInt>(trips);
  if (count && count->getZExtValue() <= most_numbers) return vector_loop(n, view, lo, trips);
  in_few_chunks(b_.getInt64(0), trips, most_numbers, [&](V k) {
    V left = b_.CreateSub(trips, k), most = b_.getInt64(most_numbers);
    vector_loop(n, view, iteration(n, lo, k), b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, most));
  });
}

/// The loop, and where rows are likely to have a length that makes loads strided once more for this length.
void FunctionEmitter::lanes(const For &n, VectorizationAnalysis &view, V lo, V trips) {
  auto run = [&] {
    is_row(n)                       ? row(n, view, lo, trips)
    : view.arg_reductions().empty() ? vector_loop(n, view, lo, trips)
                                    : numbered_loop(n, view, lo, trips);
  };
  if (view.assumed_row_lengths().empty() || view.work().strided == 0) return run();
  V likely = b_.getInt1(true);
  auto before = buffers_;
  for (const auto &[buf, length] : view.assumed_row_lengths()) {
    Memory &m = entry_of(buffers_, buf.get());
    likely = b_.CreateAnd(likely, b_.CreateICmpEQ(m.strides[buf->rank() - 2], b_.getInt64(length)));
    m.strides[buf->rank() - 2] = b_.getInt64(length);
  }
  BasicBlock *known = block("known"), *other = block("other"), *done = block("done");
  b_.CreateCondBr(likely, known, other);
  b_.SetInsertPoint(known);
  run();
  b_.CreateBr(done);
  buffers_ = std::move(before);
  b_.SetInsertPoint(other);
  memo_.clear();
  run();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  memo_.clear();
}

/// Whole chunks, then what is left of the iterations.
void FunctionEmitter::vector_loop(const For &n, VectorizationAnalysis &view, V lo, V trips) {
  uint32_t width = n.how.vector_width;
  bool polls = contains_loop(n.body), one = fits_one_chunk(n) && !exceeds_plan(n);
  V zero = b_.getInt64(0), whole = b_.CreateAnd(trips, ~uint64_t{width - 1});
  OuterCells outer = open_cells(view, width);
  if (trips == b_.getInt64(width)) {
    lane_body(n, view, lo, zero, width, outer);
    return close_cells(outer, n, view, lo, width);
  }
  bool few = !polls && is_short(n, trips);
  auto run = [&] {
    auto chunk = [&](V k) { lane_body(n, view, lo, k, width, outer); };
    one   ? in_one_chunk(zero, whole, chunk)
    : few ? in_few_chunks(zero, whole, width, chunk)
          : in_chunks(zero, whole, width, polls, chunk);
  };
  if (!one && may_stream(n, view)) {
    BasicBlock *large = block("large"), *past = block("past"), *through = block("through"),
               *behind = block("behind");
    b_.CreateCondBr(streams_, large, through);
    b_.SetInsertPoint(large);
    b_.CreateCondBr(streams_from(n, lo), past, through);
    b_.SetInsertPoint(past);
    streaming_ = true;
    run();
    streaming_ = false;
    b_.CreateBr(behind);
    b_.SetInsertPoint(through);
    run();
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
  } else {
    run();
  }
  auto *count = llvm::dyn_cast<llvm::ConstantInt>(trips);
  if (count && count->getZExtValue() % width == 0) return close_cells(outer, n, view, lo, width);
  rest_of_lanes(n, view, lo, trips, outer);
}

/// True when iterations may run a second time, and do so gladly: rows of a loop around, whose elements the
/// loop does not read.
bool FunctionEmitter::may_run_again(const For &n, const VectorizationAnalysis &view) const {
  // Operations per iteration. Chosen: repeating a longer body costs more than a masked remainder.
  constexpr uint32_t few = 64;
  if (targets_.empty() || !view.reductions().empty() || !view.arg_reductions().empty()) return false;
  if (contains_loop(n.body) || view.work().operations > few) return false;
  bool fine = true;
  std::unordered_set<const BufNode *> written;
  walk(n.body, [&](const Store &s, const Stmt &) {
    fine = fine && s.order != Order::lanes && (s.buf->space != Space::registers || view.is_own(s.buf));
    if (!view.is_own(s.buf)) written.insert(s.buf.get());
  });
  walk(n.body, [&](const Load &l, const Expr &) { fine = fine && !written.count(l.buf.get()); });
  return fine;
}

/// What whole chunks leave: in chunks of one register, of which the last one begins early enough to be whole,
/// or has a mask; or one by one.
void FunctionEmitter::rest_of_lanes(const For &n, VectorizationAnalysis &view, V lo, V trips,
                                    OuterCells &outer) {
  uint32_t width = n.how.vector_width, fewer = rest_lanes(view, width);
  bool polls = contains_loop(n.body), masks = can_mask(view, target_);
  V whole = b_.CreateAnd(trips, ~uint64_t{width - 1});
  auto run = [&](auto &&body) {
    fewer == width ? in_one_chunk(whole, trips, body)
    : polls        ? in_chunks(whole, trips, fewer, true, body)
                   : in_few_chunks(whole, trips, fewer, body);
  };
  auto masked = [&](V k) {
    V rest = b_.CreateSub(trips, k);
    lane_body(n, view, lo, k, fewer, outer, rest_mask(rest, fewer), rest);
  };
  auto one_by_one = [&] { plain_loop(n, iteration(n, lo, whole), b_.CreateSub(trips, whole), polls); };
  if (may_run_again(n, view)) {
    V last = b_.CreateSub(trips, b_.getInt64(fewer));
    BasicBlock *left = block("left_over"), *again = block("again"), *part = block("part"),
               *done = block("done");
    b_.CreateCondBr(b_.CreateICmpULT(whole, trips), left, done);
    b_.SetInsertPoint(left);
    b_.CreateCondBr(b_.CreateICmpUGE(trips, b_.getInt64(fewer)), again, part);
    b_.SetInsertPoint(again);
    run([&](V k) {
      lane_body(n, view, lo, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, k, last), fewer, outer);
    });
    b_.CreateBr(done);
    b_.SetInsertPoint(part);
    if (masks)
      in_one_chunk(whole, trips, masked);
    else
      one_by_one();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    memo_.clear();
    return;
  }
  if (masks) narrow_cells(outer, width, fewer), run(masked);
  close_cells(outer, n, view, lo, masks ? fewer : width);
  if (!masks) one_by_one();
}

}  // namespace kw
