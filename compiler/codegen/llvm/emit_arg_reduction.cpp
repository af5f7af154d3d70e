// Selections of a vector loop, `if x < best: best = x; at = i`: each lane has a best of its own and remembers
// the iteration that it comes from. At the end the best of the lanes is found, and its iteration runs once
// more as scalar code: what is kept are the bits that the serial loop keeps. Selects nothing in scalar loops.
#include "codegen/llvm/emit.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

using llvm::BasicBlock;

/// What numbers of iterations are in: as wide as what is selected among, so that a lane's mask serves both.
/// Numbers of 32 bits begin anew after most_numbers iterations.
llvm::IntegerType *FunctionEmitter::number_type(const ArgReduction &s) {
  return b_.getIntNTy(std::max(bit_width(s.selection.best->dtype), 32u));
}

/// The number of a lane that has selected nothing: behind all others where the first of equals is kept, as an
/// unsigned number, and before them where the last one is, as a signed one.
FunctionEmitter::V FunctionEmitter::no_number(const ArgReduction &s) {
  return llvm::ConstantInt::getAllOnesValue(number_type(s));
}

FunctionEmitter::BestCells FunctionEmitter::open_best(const ArgReduction &s, uint32_t count) {
  const Buf &best = s.selection.best;
  llvm::Type *t = type(best->dtype);
  BestCells out{&s, cell_of_lanes(t, count, best->sym->name),
                cell_of_lanes(number_type(s), count, best->sym->name)};
  b_.CreateStore(b_.CreateVectorSplat(count, b_.CreateLoad(t, entry_of(cells_, best.get()))), out.best);
  store_numbers(out, b_.CreateVectorSplat(count, no_number(s)), count);
  return out;
}

/// In memory a lane's number counts from that lane, so that lanes of one chunk remember the same value.
FunctionEmitter::V FunctionEmitter::load_numbers(const BestCells &cells, uint32_t count) {
  auto *words = llvm::FixedVectorType::get(number_type(*cells.selection), count);
  return b_.CreateAdd(b_.CreateLoad(words, cells.number), b_.CreateStepVector(words));
}

void FunctionEmitter::store_numbers(const BestCells &cells, V numbers, uint32_t count) {
  auto *words = llvm::FixedVectorType::get(number_type(*cells.selection), count);
  b_.CreateStore(b_.CreateSub(numbers, b_.CreateStepVector(words)), cells.number);
}

/// The lanes that find something better take it, and remember where they are. Without a branch: in rows of a
/// few chunks nearly each one has a lane that does.
void FunctionEmitter::vector_arg_reduction(const ArgReduction &s) {
  const BestCells *cells = nullptr;
  for (const BestCells &c : lanes_->outer->bests)
    if (c.selection->at == s.at) cells = &c;
  const ArgReductionForm &n = s.selection;
  V value = widen(n.value), best = b_.CreateLoad(value->getType(), cells->best);
  V better =
      n.best_is_left ? compare(n.op, n.best->dtype, best, value) : compare(n.op, n.best->dtype, value, best);
  V mask = both(lanes_->mask, better);
  V here = splat(b_.CreateTrunc(lanes_->number, number_type(s)));
  b_.CreateStore(b_.CreateSelect(mask, value, best), cells->best);
  b_.CreateStore(b_.CreateSelect(mask, here, b_.CreateLoad(here->getType(), cells->number)), cells->number);
  memo_.clear(), lanes_->memo.clear();
}

/// Lane l keeps the better of itself and lane l + half, of equals the one that the serial loop keeps, until
/// `to` lanes are left.
std::pair<FunctionEmitter::V, FunctionEmitter::V> FunctionEmitter::folded(const BestCells &cells,
                                                                          uint32_t from, uint32_t to) {
  const ArgReductionForm &n = cells.selection->selection;
  DType t = n.best->dtype;
  V best = b_.CreateLoad(llvm::FixedVectorType::get(type(t), from), cells.best);
  V number = load_numbers(cells, from);
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

/// Lets the lanes be fewer.
void FunctionEmitter::narrow_best(BestCells &cells, uint32_t from, uint32_t to) {
  const Buf &scalar = cells.selection->selection.best;
  auto [best, number] = folded(cells, from, to);
  cells.best = cell_of_lanes(type(scalar->dtype), to, scalar->sym->name);
  cells.number = cell_of_lanes(number_type(*cells.selection), to, scalar->sym->name);
  b_.CreateStore(best, cells.best);
  store_numbers(cells, number, to);
}

/// Runs the iteration that the lanes have selected, where there is one.
void FunctionEmitter::close_best(const BestCells &cells, const For &n, const VectorizationAnalysis &view,
                                 V lo, uint32_t count) {
  V number = b_.CreateExtractElement(folded(cells, count, 1).second, uint64_t{0});
  BasicBlock *again = block("selected"), *done = block("kept");
  b_.CreateCondBr(b_.CreateICmpEQ(number, no_number(*cells.selection)), done, again);
  b_.SetInsertPoint(again);
  values_[n.iter.get()] = iteration(n, lo, b_.CreateZExt(number, b_.getInt64Ty()));
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

/// A branch that stores nothing which is kept is left out: else the code of n selections would hold the
/// branches of all n in each.
bool FunctionEmitter::is_left_out(const If &n) const {
  if (!selected_) return false;
  bool stores_only = true;
  auto look = [&](const Stmt &way) {
    walk(
        way, [&](const Store &s, const Stmt &) { stores_only &= is_left_out(s); },
        [&](const Check &, const Stmt &) { stores_only = false; },
        [&](const While &, const Stmt &) { stores_only = false; },
        [&](const Jump &, const Stmt &) { stores_only = false; });
  };
  look(n.yes);
  if (n.no) look(n.no);
  return stores_only;
}

}  // namespace kw
