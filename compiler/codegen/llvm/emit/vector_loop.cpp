// Emits the chunks of a vector loop, the masks of incomplete chunks, and the remainder.
#include "codegen/llvm/emit/vector_loop.h"

#include <algorithm>

#include "codegen/llvm/emit/loops.h"
#include "codegen/llvm/emit/statements.h"
#include "codegen/llvm/emit/streams.h"
#include "codegen/llvm/emit/vector.h"
#include "ir/loops.h"

namespace kw {

using llvm::BasicBlock;
using V = llvm::Value *;

/// Returns the vector width of the remainder.
uint32_t VectorLoopEmitter::rest_width(const VectorizationAnalysis &view, uint32_t width) const {
  // One register of the widest values, and at least two lanes: a vector of one lane would be scalar code.
  uint32_t widest = std::max({view.widest_element(), view.widest_value(), 8u});
  return std::min(width, std::max(target().vector_bytes() * 8 / widest, 2u));
}

/// Emits one chunk: the iterations k, k + 1, … of the loop.
void VectorLoopEmitter::vector_body(const For &n, VectorizationAnalysis &view, V lo, V k, uint32_t count,
                                    const ReductionCells &outer, V mask, V rest) {
  VectorState here{&view, n.how.prefetch > 0, n.step, count, loops().iteration(n, lo, k), k, mask, mask,
                   rest};
  cx_.values[n.iter.get()] = here.first;
  here.outer = &outer;
  for (const auto &[sum, cell] : outer.sums) here.cells[sum.cell.get()] = cell;
  {
    Scoped inside(cx_.vector, &here);
    statements().emit(n.body);
  }
  cx_.memo.clear();
}

/// Returns the mask of the lanes from lo to below hi; there is at least one.
llvm::Value *VectorLoopEmitter::row_mask(V lo, V hi, uint32_t count) {
  V below = mask_of_first(cx_, hi, count);
  if (auto *first = llvm::dyn_cast<llvm::ConstantInt>(lo); first && first->isZero()) return below;
  if (target().has_mask_registers() && count >= 8) {
    V ones = b_.CreateShl(llvm::ConstantInt::getAllOnesValue(b_.getInt64Ty()), lo);
    V from = b_.CreateBitCast(b_.CreateTrunc(ones, b_.getIntNTy(count)), below->getType());
    return b_.CreateAnd(below, from);
  }
  V all = b_.CreateVectorSplat(count, b_.CreateTrunc(lo, b_.getInt32Ty()));
  return b_.CreateAnd(below, b_.CreateICmpUGE(b_.CreateStepVector(all->getType()), all));
}

/// Emits a loop that fills one vector at most, where each iterator value is the number of a lane. Needs a
/// mask unless all lanes are active.
void VectorLoopEmitter::row(const For &n, VectorizationAnalysis &view, V lo, V trips) {
  V zero = b_.getInt64(0), all = b_.getInt64(n.how.vector_width), from = lo, count = trips;
  auto body = [&](V mask) {
    ReductionCells outer = reductions().open(view, n.how.vector_width);
    vector_body(n, view, zero, zero, n.how.vector_width, outer, mask);
    reductions().close(outer, n, view, zero, n.how.vector_width);
  };
  if (count == all) return body(nullptr);
  BasicBlock *part = block("part"), *done = block("done");
  // A full row needs no mask. Its code is left out if the trip count can never reach the width.
  bool may_be_whole = !n.how.max_trips || n.how.max_trips >= n.how.vector_width;
  if (may_be_whole && n.how.tail != Tail::masked) {
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
  cx_.memo.clear();
}

/// Emits the loop in sub-ranges, in which the numbers of iterations fit 32 bits.
void VectorLoopEmitter::numbered_loop(const For &n, VectorizationAnalysis &view, V lo, V trips) {
  auto *count = llvm::dyn_cast<llvm::ConstantInt>(trips);
  if (count && count->getZExtValue() <= ReductionEmitter::most_numbers)
    return vector_loop(n, view, lo, trips);
  loops().in_few_chunks(b_.getInt64(0), trips, ReductionEmitter::most_numbers, [&](V k) {
    V left = b_.CreateSub(trips, k), most = b_.getInt64(ReductionEmitter::most_numbers);
    vector_loop(n, view, loops().iteration(n, lo, k),
                b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, most));
  });
}

/// Emits the loop. Assumed row lengths add a version in which loads have a constant stride.
void VectorLoopEmitter::emit(const For &n, VectorizationAnalysis &view, V lo, V trips) {
  auto run = [&] {
    fills_vector_register(n)        ? row(n, view, lo, trips)
    : view.arg_reductions().empty() ? vector_loop(n, view, lo, trips)
                                    : numbered_loop(n, view, lo, trips);
  };
  if (n.row_lengths.empty()) return run();
  V likely = b_.getInt1(true);
  auto before = cx_.buffers;
  for (const auto &[buf, length] : n.row_lengths) {
    // In the version `known`, place_of sees a constant stride where the other version sees a variable.
    Memory &m = entry_of(cx_.buffers, buf.get());
    likely = b_.CreateAnd(likely, b_.CreateICmpEQ(m.strides[buf->rank() - 2], b_.getInt64(length)));
    m.strides[buf->rank() - 2] = b_.getInt64(length);
  }
  BasicBlock *known = block("known"), *other = block("other"), *done = block("done");
  b_.CreateCondBr(likely, known, other);
  b_.SetInsertPoint(known);
  run();
  b_.CreateBr(done);
  cx_.buffers = std::move(before);
  b_.SetInsertPoint(other);
  cx_.memo.clear();
  run();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  cx_.memo.clear();
}

/// Emits whole chunks, then the remainder.
void VectorLoopEmitter::vector_loop(const For &n, VectorizationAnalysis &view, V lo, V trips) {
  uint32_t width = n.how.vector_width;
  // The accumulators stay open over chunks and remainder: lanes fold once after the loop.
  bool polls = holds_long_loop(n.body), one = fits_one_vector(n) && !loops().exceeds_plan(n);
  V zero = b_.getInt64(0), whole = b_.CreateAnd(trips, ~uint64_t{width - 1});
  ReductionCells outer = reductions().open(view, width);
  if (trips == b_.getInt64(width)) {
    vector_body(n, view, lo, zero, width, outer);
    return reductions().close(outer, n, view, lo, width);
  }
  bool few = !polls && loops().is_short(n, trips);
  auto run = [&] {
    auto chunk = [&](V k) { vector_body(n, view, lo, k, width, outer); };
    one   ? loops().in_one_chunk(zero, whole, chunk)
    : few ? loops().in_few_chunks(zero, whole, width, chunk)
          : loops().in_chunks(zero, whole, width, polls, chunk);
  };
  if (!one && n.how.stream && cx_.streams) {
    BasicBlock *large = block("large"), *past = block("past"), *through = block("through"),
               *behind = block("behind");
    b_.CreateCondBr(cx_.streams, large, through);
    b_.SetInsertPoint(large);
    b_.CreateCondBr(streams().begins_at_lines(n, lo), past, through);
    b_.SetInsertPoint(past);
    {
      Scoped streaming(cx_.streaming, true);
      run();
    }
    b_.CreateBr(behind);
    b_.SetInsertPoint(through);
    run();
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
  } else {
    run();
  }
  auto *count = llvm::dyn_cast<llvm::ConstantInt>(trips);
  if (count && count->getZExtValue() % width == 0) return reductions().close(outer, n, view, lo, width);
  remainder(n, view, lo, trips, outer);
}

/// Emits the remainder after whole chunks: in chunks of one register, or one by one. The last of these chunks
/// begins early enough to be whole, or has a mask.
void VectorLoopEmitter::remainder(const For &n, VectorizationAnalysis &view, V lo, V trips,
                                  ReductionCells &outer) {
  // trips = 83, width = 32, fewer = 8: the chunks end at 64, and the remainder is, by its kind,
  //     overlapped   8 lanes at 64, 72 and 75; iterations 75 … 79 run twice
  //     masked       8 lanes at 64, 72 and 80, of which the last chunk has 3 active lanes
  //     scalar       iterations 64 … 82 one by one
  uint32_t width = n.how.vector_width, fewer = rest_width(view, width);
  bool polls = holds_long_loop(n.body),
       masks = n.how.tail == Tail::masked || n.how.tail == Tail::overlapped_or_masked;
  bool overlaps = n.how.tail == Tail::overlapped || n.how.tail == Tail::overlapped_or_masked;
  V whole = b_.CreateAnd(trips, ~uint64_t{width - 1});
  auto run = [&](auto &&body) {
    fewer == width ? loops().in_one_chunk(whole, trips, body)
    : polls        ? loops().in_chunks(whole, trips, fewer, true, body)
                   : loops().in_few_chunks(whole, trips, fewer, body);
  };
  auto masked = [&](V k) {
    V rest = b_.CreateSub(trips, k);
    vector_body(n, view, lo, k, fewer, outer, mask_of_first(cx_, rest, fewer), rest);
  };
  auto one_by_one = [&] {
    loops().plain_loop(n, loops().iteration(n, lo, whole), b_.CreateSub(trips, whole), polls);
  };
  if (overlaps) {
    // A loop with fewer iterations than lanes has no room to begin earlier: it takes the mask or scalar code.
    V last = b_.CreateSub(trips, b_.getInt64(fewer));
    BasicBlock *left = block("left_over"), *again = block("again"), *part = block("part"),
               *done = block("done");
    b_.CreateCondBr(b_.CreateICmpULT(whole, trips), left, done);
    b_.SetInsertPoint(left);
    b_.CreateCondBr(b_.CreateICmpUGE(trips, b_.getInt64(fewer)), again, part);
    b_.SetInsertPoint(again);
    run([&](V k) {
      vector_body(n, view, lo, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, k, last), fewer, outer);
    });
    b_.CreateBr(done);
    b_.SetInsertPoint(part);
    if (masks)
      loops().in_one_chunk(whole, trips, masked);
    else
      one_by_one();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    cx_.memo.clear();
    return;
  }
  if (masks) reductions().narrow(outer, width, fewer), run(masked);
  reductions().close(outer, n, view, lo, masks ? fewer : width);
  if (!masks) one_by_one();
}

}  // namespace kw
