// Emits the control flow of loops. An innermost loop polls after each poll_interval iterations, any other
// loop after each iteration.
#include "codegen/llvm/emit/loops.h"

#include "analysis/vector/row_collapse.h"
#include "codegen/llvm/emit/recurrences.h"
#include "codegen/llvm/emit/regions.h"
#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/statements.h"
#include "codegen/llvm/emit/transpose.h"
#include "codegen/llvm/emit/vector_loop.h"
#include "codegen/llvm/values/hoist.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "support/text.h"

namespace kw {

using llvm::BasicBlock;
using llvm::ConstantInt;
using V = llvm::Value *;

namespace {

/// Iterations between two polls of the cancel flag in an innermost loop. Chosen: some 0.3 ms.
constexpr int64_t poll_interval = int64_t{1} << 20;

}  // namespace

/// Makes both sides of the count's select eager: they are cheap and cannot trap, so no branch is needed.
llvm::Value *LoopEmitter::trip_count(const Expr &lo, const Expr &hi, int64_t step) {
  Expr count = rewrite(trips_between(lo, hi, step), [](const Select &n, const Expr &e) {
    return make_expr(e.dtype(), e.loc(), Select{n.cond, n.yes, n.no, true, true});  // cheaper than a branch
  });
  V trips = value_of_size(count);
  if (!llvm::isa<llvm::Constant>(trips) && !trips->hasName()) trips->setName("trips");
  return trips;
}

llvm::Value *LoopEmitter::iteration(const For &n, V lo, V k) {
  V offset = n.step == 1 ? k : b_.CreateMul(k, ConstantInt::getSigned(b_.getInt64Ty(), n.step));
  V value = ops().sum(lo, offset);
  if (!llvm::isa<llvm::Constant>(value) && !value->hasName()) value->setName(n.iter->name);
  return value;
}

/// Branches to `on` unless the run is cancelled.
void LoopEmitter::poll(BasicBlock *on) {
  V flag = b_.CreateLoad(b_.getInt32Ty(), cx_.cancel, true);
  b_.CreateCondBr(b_.CreateICmpNE(flag, b_.getInt32(0)), cx_.cancelled, on);
}

/// Chooses how a loop runs. A collapsed row has its length from the rows around it. A parallel loop inside a
/// chunk or a vector loop runs in this function; any other one becomes a region.
void LoopEmitter::emit(const For &n) {
  V lo = scalars().expr(n.lo);
  if (&n == cx_.collapsed_row)
    iterations(n, lo, cx_.collapsed_length);
  else if (n.kind != ForKind::parallel)
    iterations(n, lo, trip_count(n.lo, n.hi, n.step));
  else if (cx_.status || cx_.vector)
    regions().loop_in_chunk(n, lo);
  else
    regions().emit(n, lo, trip_count(n.lo, n.hi, n.step));
  cx_.memo.clear();
}

/// Emits `trips` iterations in this function; the iterator of the first one is `lo`.
void LoopEmitter::iterations(const For &n, V lo, V trips) {
  // Blocks that are made from here on belong to the loop; hoist_invariants finds them after `last`.
  BasicBlock *last = &cx_.fn->back(), *before = b_.GetInsertBlock();
  std::optional<VectorizationAnalysis> view;
  std::optional<InterleavedLoads> loads;
  if (vector_loops().runs_in_vectors(n)) {
    view.emplace(n), loads.emplace(n, *view);
    ensure(view->is_vectorizable(), cat("the vector loop over '", n.iter->name, "' has no vector form"));
  }
  Scoped interleaved(cx_.interleaved, loads ? &*loads : cx_.interleaved);
  if (view)
    vector_loops().emit(n, *view, lo, trips);
  else if (n.kind == ForKind::unroll)
    unrolled_loop(n, lo, trips);
  else if (n.how.flatten)
    flattened_loop(n, lo, trips);
  else if (holds_long_loop(n.body))
    plain_loop(n, lo, trips, true);
  else if (auto blocks = cx_.vector ? TransposeEmitter(cx_).blocks_in(n) : std::nullopt)
    TransposeEmitter(cx_).emit(n, *blocks, lo, trips);
  else if (is_short(n, trips) && llvm::isa<ConstantInt>(trips))
    plain_loop(n, lo, trips, false);
  else if (is_short(n, trips))
    short_loop(n, lo, trips);
  else
    inner_loop(n, lo, trips);
  hoist_invariants(last, before);
}

/// Polls the cancel flag after each iteration, or never.
void LoopEmitter::plain_loop(const For &n, V lo, V trips, bool polls) {
  BasicBlock *before = b_.GetInsertBlock(), *body = block("loop"), *done = block("done");
  auto *count = llvm::dyn_cast<ConstantInt>(trips);
  if (count && !count->isZero())
    b_.CreateBr(body);
  else
    b_.CreateCondBr(b_.CreateICmpEQ(trips, b_.getInt64(0)), done, body);
  b_.SetInsertPoint(body);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(b_.getInt64(0), before);
  cx_.values[n.iter.get()] = iteration(n, lo, k);
  statements().body_with_targets(n.body, done);
  if (polls) {
    BasicBlock *on = block("on");
    poll(on);
    b_.SetInsertPoint(on);
  }
  V next = b_.CreateAdd(k, b_.getInt64(1), "", true, true);
  k->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(next, trips), done, body);
  b_.SetInsertPoint(done);
}

/// Emits `how.unroll` copies of the body one after the other, then a loop over the remaining iterations.
void LoopEmitter::unrolled_loop(const For &n, V lo, V trips) {
  auto copies = [&](auto place) {
    for (uint32_t c = 0; c < n.how.unroll; ++c) {
      cx_.values[n.iter.get()] = iteration(n, lo, place(c));
      cx_.memo.clear();
      statements().emit(n.body);
    }
  };
  auto *known = llvm::dyn_cast<ConstantInt>(trips);
  if (known && known->getZExtValue() == n.how.unroll) {
    copies([&](uint32_t c) { return b_.getInt64(c); });
    cx_.memo.clear();
    return;
  }
  V whole = b_.CreateSub(trips, b_.CreateURem(trips, b_.getInt64(n.how.unroll)));
  bool polls = holds_long_loop(n.body);
  in_chunks(b_.getInt64(0), whole, n.how.unroll, polls, [&](V k) {
    copies([&](uint32_t c) { return b_.CreateAdd(k, b_.getInt64(c), "", true, true); });
  });
  plain_loop(n, iteration(n, lo, whole), b_.CreateSub(trips, whole), polls);
}

/// Returns whether a loop runs a few iterations at most. Such a loop does not poll; the loops around it do.
bool LoopEmitter::is_short(const For &n, V trips) const {
  if (auto *count = llvm::dyn_cast<ConstantInt>(trips))
    return count->getZExtValue() <= max_trips_without_poll;
  return !exceeds_plan(n) && n.how.max_trips > 0 && n.how.max_trips <= max_trips_without_poll;
}

/// Emits iterations from, from + 1, … below to, `copies` at a time. Requires from < to, with a difference
/// that is a multiple of `copies`.
void LoopEmitter::run_of_iterations(const For &n, V lo, V from, V to, uint32_t copies, BasicBlock *done) {
  BasicBlock *before = b_.GetInsertBlock(), *body = block("loop"), *end = block("end");
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(from, before);
  V next = k;
  for (uint32_t c = 0; c < copies; ++c) {
    cx_.values[n.iter.get()] = iteration(n, lo, next);
    statements().body_with_targets(n.body, done);
    next = b_.CreateAdd(k, b_.getInt64(c + 1), "", true, true);
  }
  k->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(next, to), end, body);
  b_.SetInsertPoint(end);
  cx_.memo.clear();
}

/// Emits iterations from, from + 1, … below to, `how.unroll` at a time, then the remaining ones. Requires
/// from < to.
void LoopEmitter::copied_iterations(const For &n, V lo, V from, V to, BasicBlock *done) {
  uint32_t copies = std::max(n.how.unroll, 1u);
  if (copies == 1) return run_of_iterations(n, lo, from, to, 1, done);
  BasicBlock *several = block("several"), *rest = block("rest"), *one = block("one"), *ran = block("ran");
  V span = b_.CreateSub(to, from);
  // The mask rounds down to a multiple of the copies, which are a power of two.
  V whole = b_.CreateAdd(from, b_.CreateAnd(span, ~uint64_t{copies - 1}));
  b_.CreateCondBr(b_.CreateICmpEQ(from, whole), rest, several);
  b_.SetInsertPoint(several);
  run_of_iterations(n, lo, from, whole, copies, done);
  b_.CreateBr(rest);
  b_.SetInsertPoint(rest);
  b_.CreateCondBr(b_.CreateICmpEQ(whole, to), ran, one);
  b_.SetInsertPoint(one);
  run_of_iterations(n, lo, whole, to, 1, done);
  b_.CreateBr(ran);
  b_.SetInsertPoint(ran);
}

/// Emits a loop that ends before a poll is due.
void LoopEmitter::short_loop(const For &n, V lo, V trips) {
  BasicBlock *some = block("some"), *done = block("done");
  V zero = b_.getInt64(0);
  b_.CreateCondBr(b_.CreateICmpEQ(trips, zero), done, some);
  b_.SetInsertPoint(some);
  copied_iterations(n, lo, zero, trips, done);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

/// Strip-mines the loop by poll_interval, so that the inner loop has no poll.
void LoopEmitter::inner_loop(const For &n, V lo, V trips) {
  // for start in 0, P, 2 P, … below trips:                   P is poll_interval
  //     for k in start … min(start + P, trips): body
  //     poll
  BasicBlock *before = b_.GetInsertBlock(), *stretch = block("stretch"), *more = block("more"),
             *done = block("done");
  V zero = b_.getInt64(0);
  b_.CreateCondBr(b_.CreateICmpEQ(trips, zero), done, stretch);
  b_.SetInsertPoint(stretch);
  llvm::PHINode *start = b_.CreatePHI(b_.getInt64Ty(), 2);
  start->addIncoming(zero, before);
  V limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, trips,
                                     b_.CreateAdd(start, b_.getInt64(poll_interval), "", true, true));
  copied_iterations(n, lo, start, limit, done);
  b_.CreateCondBr(b_.CreateICmpEQ(limit, trips), done, more);
  b_.SetInsertPoint(more);
  start->addIncoming(limit, more);
  poll(stretch);
  b_.SetInsertPoint(done);
}

/// Emits body(from), which executes if from < to.
void LoopEmitter::in_one_chunk(V from, V to, llvm::function_ref<void(V)> body) {
  BasicBlock *chunk = block("vector"), *done = block("done");
  b_.CreateCondBr(b_.CreateICmpULT(from, to), chunk, done);
  b_.SetInsertPoint(chunk);
  body(from);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  cx_.memo.clear();
}

/// Emits a loop in the block `at.body`, entered from `at.before` and left to `at.after`. Executes body(k) at
/// least once.
void LoopEmitter::repeat(const RepeatedBlock &at, V from, V to, uint32_t size,
                         llvm::function_ref<void(V)> body) {
  b_.SetInsertPoint(at.body);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(from, at.before);
  body(k);
  V next = b_.CreateAdd(k, b_.getInt64(size), "", true, true);
  k->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, to), at.body, at.after);
}

/// Emits body(k), which executes for k = from, from + size, … below to. These are few: the loop does not
/// poll.
void LoopEmitter::in_few_chunks(V from, V to, uint32_t size, llvm::function_ref<void(V)> body) {
  BasicBlock *before = b_.GetInsertBlock(), *chunk = block("vectors"), *done = block("done");
  b_.CreateCondBr(b_.CreateICmpULT(from, to), chunk, done);
  repeat({chunk, before, done}, from, to, size, body);
  b_.SetInsertPoint(done);
  cx_.memo.clear();
}

/// Emits body(k), which executes for k = from, from + size, … below to. Polls after each chunk, or after
/// poll_interval iterations.
void LoopEmitter::in_chunks(V from, V to, uint32_t size, bool polls, llvm::function_ref<void(V)> body) {
  BasicBlock *before = b_.GetInsertBlock(), *stretch = block("stretch"), *chunk = block("vectors"),
             *end = block("end"), *more = block("more"), *done = block("done");
  // The limit of the first sub-range is invariant in the loops around this one.
  V reach = b_.getInt64(polls ? size : poll_interval);
  V first_limit =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, to, b_.CreateAdd(from, reach, "", true, true));
  b_.CreateCondBr(b_.CreateICmpULT(from, to), stretch, done);
  b_.SetInsertPoint(stretch);
  llvm::PHINode *start = b_.CreatePHI(b_.getInt64Ty(), 2), *limit = b_.CreatePHI(b_.getInt64Ty(), 2);
  start->addIncoming(from, before);
  limit->addIncoming(first_limit, before);
  b_.CreateBr(chunk);
  repeat({chunk, stretch, end}, start, limit, size, body);
  b_.SetInsertPoint(end);
  b_.CreateCondBr(b_.CreateICmpULT(limit, to), more, done);
  b_.SetInsertPoint(more);
  start->addIncoming(limit, more);
  limit->addIncoming(
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, to, b_.CreateAdd(limit, reach, "", true, true)), more);
  poll(stretch);
  b_.SetInsertPoint(done);
  cx_.memo.clear();
}

/// Emits rows one by one, or as one row if they lie end to end. Rows of a constant length have code of their
/// own.
void LoopEmitter::flattened_loop(const For &rows, V lo, V trips) {
  const For *row = row_of(rows, cx_.status != nullptr);
  // `row` is the loop over the elements of one row:
  //     for i in rows: for j in row: f(i, j)   →   for j in row of length · rows: f(first row, j)
  ensure(row, cat("the loop over '", rows.iter->name, "' is flattened, but runs over no rows"));
  V one = b_.getInt64(1);
  V length = trip_count(const_int(0), as<For>(rows.body)->hi, 1);  // of a row; the row may run in blocks
  // A thread that runs a piece of each row cannot join rows. Arrays must have rows without a gap between
  // them.
  V joined = cx_.sub_range.is_whole ? cx_.sub_range.is_whole : b_.getTrue();
  for (const Buf &b : buffers_in_rows(rows, *row)) {
    const std::vector<V> &strides = entry_of(cx_.buffers, b.get()).strides;  // null: 1
    V stride = strides[b->rank() - 2], last = strides.back();
    joined = b_.CreateAnd(joined, b_.CreateICmpEQ(stride ? stride : one, length));
    if (last) joined = b_.CreateAnd(joined, b_.CreateICmpEQ(last, one));
  }
  V all = b_.CreateMul(length, trips), fewest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, trips, one);
  cx_.memo.clear();
  auto run = [&](V joined_length, V count) {
    Scoped own_row(cx_.collapsed_row, row);
    Scoped own_length(cx_.collapsed_length, joined_length);
    plain_loop(rows, lo, count, true);
    cx_.memo.clear();
  };
  // Without a constant length, one piece of code serves both cases: the loop over rows runs once or for each
  // row. A constant length is worth two versions, since the inner loop then has a constant trip count.
  if (!llvm::isa<llvm::ConstantInt>(length))
    return run(b_.CreateSelect(joined, all, length), b_.CreateSelect(joined, fewest, trips));
  BasicBlock *as_one = block("as_one"), *apart = block("apart"), *done = block("done");
  b_.CreateCondBr(joined, as_one, apart);
  b_.SetInsertPoint(as_one);
  run(all, fewest);
  b_.CreateBr(done);
  b_.SetInsertPoint(apart);
  run(length, trips);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace kw
