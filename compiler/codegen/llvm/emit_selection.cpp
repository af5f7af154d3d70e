// Selections of a vector loop, `if x < best: best = x; at = i`: each lane has a best of its own and remembers
// the iteration that it comes from. At the end the best of the lanes is found, and its iteration runs once
// more as scalar code: what is kept are the bits that the serial loop keeps. Selects nothing in scalar loops.
#include "codegen/llvm/emit.h"
#include "ir/match.h"

namespace kw {

using llvm::BasicBlock;

/// The number of a lane that has selected nothing: behind all others where the first of equals is kept, as an
/// unsigned number, and before them where the last one is, as a signed one.
FunctionEmitter::V FunctionEmitter::no_number(const OuterSelection &) { return b_.getInt64(~uint64_t{0}); }

FunctionEmitter::BestCells FunctionEmitter::open_best(const OuterSelection &s, uint32_t count) {
  const Buf &best = s.selection.best;
  llvm::Type *t = type(best->dtype);
  BestCells out{&s, cell_of_lanes(t, count, best->sym->name),
                cell_of_lanes(b_.getInt64Ty(), count, best->sym->name)};
  b_.CreateStore(b_.CreateVectorSplat(count, b_.CreateLoad(t, cells_.at(best.get()))), out.best);
  b_.CreateStore(b_.CreateVectorSplat(count, no_number(s)), out.number);
  return out;
}

/// The lanes that find something better take it, and remember where they are.
void FunctionEmitter::wide_selection(const OuterSelection &s) {
  const BestCells *cells = nullptr;
  for (const BestCells &c : lanes_->outer->bests)
    if (c.selection->at == s.at) cells = &c;
  const Selection &n = s.selection;
  uint32_t count = lanes_->count;
  V value = widen(n.value), best = b_.CreateLoad(value->getType(), cells->best);
  V better =
      n.best_is_left ? compare(n.op, n.best->dtype, best, value) : compare(n.op, n.best->dtype, value, best);
  V mask = both(lanes_->mask, better);
  where(mask, [&](BasicBlock *done) {
    auto *words = llvm::FixedVectorType::get(b_.getInt64Ty(), count);
    V number = b_.CreateAdd(splat(lanes_->number), b_.CreateStepVector(words));
    b_.CreateStore(b_.CreateSelect(mask, value, best), cells->best);
    b_.CreateStore(b_.CreateSelect(mask, number, b_.CreateLoad(words, cells->number)), cells->number);
    b_.CreateBr(done);
  });
  memo_.clear(), lanes_->memo.clear();
}

/// Lane l keeps the better of itself and lane l + half, of equals the one that the serial loop keeps, until
/// `to` lanes are left.
std::pair<FunctionEmitter::V, FunctionEmitter::V> FunctionEmitter::folded(const BestCells &cells,
                                                                          uint32_t from, uint32_t to) {
  const Selection &n = cells.selection->selection;
  DType t = n.best->dtype;
  V best = b_.CreateLoad(llvm::FixedVectorType::get(type(t), from), cells.best);
  V number = b_.CreateLoad(llvm::FixedVectorType::get(b_.getInt64Ty(), from), cells.number);
  for (uint32_t half = from / 2; half >= to && half >= 1; half /= 2) {
    auto [a, b] = halves(best, half);
    auto [at_a, at_b] = halves(number, half);
    V better = n.best_is_left ? compare(BinOp::lt, t, a, b) : compare(BinOp::lt, t, b, a);
    V kept = n.op == BinOp::lt ? b_.CreateICmpULT(at_b, at_a) : b_.CreateICmpSGT(at_b, at_a);
    V take = b_.CreateOr(better, b_.CreateAnd(compare(BinOp::eq, t, a, b), kept));
    best = b_.CreateSelect(take, b, a), number = b_.CreateSelect(take, at_b, at_a);
  }
  return {best, number};
}

/// Runs the iteration that the lanes have selected, where there is one.
void FunctionEmitter::close_best(const BestCells &cells, const For &n, const LaneView &view, V lo,
                                 uint32_t count) {
  V number = b_.CreateExtractElement(folded(cells, count, 1).second, uint64_t{0});
  BasicBlock *again = block("selected"), *done = block("kept");
  b_.CreateCondBr(b_.CreateICmpEQ(number, no_number(*cells.selection)), done, again);
  b_.SetInsertPoint(again);
  values_[n.iter.get()] = iteration(n, lo, number);
  selected_ = cells.selection, selected_view_ = &view;
  statements(n.body);
  selected_ = nullptr, selected_view_ = nullptr;
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  memo_.clear();
}

bool FunctionEmitter::is_left_out(const Store &n) const {
  return selected_ && !selected_->keeps(n.buf) && !selected_view_->is_own(n.buf);
}

}  // namespace kw
