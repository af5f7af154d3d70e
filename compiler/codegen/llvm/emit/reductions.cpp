// Emits the accumulators of lanes: their identities, the folds of the lanes, and the results after the loop.
#include "codegen/llvm/emit/reductions.h"

#include "codegen/llvm/emit/loops.h"
#include "codegen/llvm/emit/statements.h"
#include "codegen/llvm/emit/vector.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

using llvm::BasicBlock;
using V = llvm::Value *;

/// Returns the identity of a reduction in all lanes.
llvm::Value *ReductionEmitter::identity_of(const Reduction &sum, uint32_t count) {
  llvm::Type *t = ops().type(sum.cell->dtype);
  V one = nullptr;
  uint32_t bits = bit_width(sum.cell->dtype);
  bool largest = sum.op == BinOp::min;
  // Float reductions are minima and maxima only: no other operation gives the same bits in any order.
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

/// Makes the accumulators of a loop, one value for each lane, before its first chunk.
ReductionCells ReductionEmitter::open(const VectorizationAnalysis &view, uint32_t count) {
  ReductionCells out;
  for (const Reduction &sum : view.reductions()) {
    out.sums.emplace_back(sum, vector_variable(ops().type(sum.cell->dtype), count, sum.cell->sym->name));
    b_.CreateStore(identity_of(sum, count), out.sums.back().second);
  }
  for (const ArgReduction &s : view.arg_reductions()) out.bests.push_back(open_best(s, count));
  return out;
}

/// Returns lanes 0 … half - 1, and the `half` lanes after them.
std::pair<llvm::Value *, llvm::Value *> ReductionEmitter::halves(V lanes, uint32_t half) {
  std::vector<int> low(half), high(half);
  for (uint32_t l = 0; l < half; ++l) low[l] = static_cast<int>(l), high[l] = static_cast<int>(l + half);
  return {b_.CreateShuffleVector(lanes, low), b_.CreateShuffleVector(lanes, high)};
}

/// Folds lane l + half into lane l, again and again, until `to` lanes are left.
llvm::Value *ReductionEmitter::folded(const Reduction &sum, V lanes, uint32_t from, uint32_t to) {
  for (uint32_t half = from / 2; half >= to && half >= 1; half /= 2) {
    auto [a, b] = halves(lanes, half);
    lanes = ops().binary(sum.op, sum.cell->dtype, a, b);
  }
  return lanes;
}

/// Folds the accumulators for a remainder whose chunks have fewer lanes than those of the loop.
void ReductionEmitter::narrow(ReductionCells &outer, uint32_t from, uint32_t to) {
  for (auto &[sum, cell] : outer.sums) {
    llvm::Type *t = ops().type(sum.cell->dtype);
    V lanes = b_.CreateLoad(llvm::FixedVectorType::get(t, from), cell);
    V fewer = vector_variable(t, to, sum.cell->sym->name);
    b_.CreateStore(folded(sum, lanes, from, to), fewer);
    cell = fewer;
  }
  for (BestCells &cells : outer.bests) narrow_best(cells, from, to);
}

/// Folds the lanes into the scalars, and runs the iterations that arg-reductions have selected.
void ReductionEmitter::close(const ReductionCells &outer, const For &n, const VectorizationAnalysis &view,
                             V lo, uint32_t count) {
  for (const auto &[sum, cell] : outer.sums) {
    V lanes = b_.CreateLoad(llvm::FixedVectorType::get(ops().type(sum.cell->dtype), count), cell);
    V gathered = b_.CreateExtractElement(folded(sum, lanes, count, 1), uint64_t{0});
    V target = entry_of(cx_.cells, sum.cell.get());
    V before = b_.CreateLoad(ops().type(sum.cell->dtype), target);
    b_.CreateStore(ops().binary(sum.op, sum.cell->dtype, before, gathered), target);
  }
  for (const BestCells &cells : outer.bests) close_best(cells, n, view, lo, count);
}

/// Returns the type of iteration numbers: as wide as the selected values, so that one mask serves both, and
/// at least 32 bits. Numbers of 32 bits begin anew after most_numbers iterations.
llvm::IntegerType *ReductionEmitter::number_type(const ArgReduction &s) {
  return b_.getIntNTy(std::max(bit_width(s.selection.best->dtype), 32u));
}

/// Returns the number of a lane that has selected nothing: the largest unsigned number, or -1 as a signed
/// one. Numbers are unsigned if the first of equal values is kept, and signed if the last one is kept.
llvm::Value *ReductionEmitter::no_number(const ArgReduction &s) {
  return llvm::ConstantInt::getAllOnesValue(number_type(s));
}

/// Each lane begins with the scalar's value, so that only an iteration that improves on it is selected.
BestCells ReductionEmitter::open_best(const ArgReduction &s, uint32_t count) {
  const Buf &best = s.selection.best;
  llvm::Type *t = ops().type(best->dtype);
  BestCells out{&s, vector_variable(t, count, best->sym->name),
                vector_variable(number_type(s), count, best->sym->name)};
  b_.CreateStore(b_.CreateVectorSplat(count, b_.CreateLoad(t, entry_of(cx_.cells, best.get()))), out.best);
  store_numbers(out, b_.CreateVectorSplat(count, no_number(s)), count);
  return out;
}

/// In memory a lane's number counts from that lane, so that lanes of one chunk remember the same value.
llvm::Value *ReductionEmitter::load_numbers(const BestCells &cells, uint32_t count) {
  auto *words = llvm::FixedVectorType::get(number_type(*cells.selection), count);
  return b_.CreateAdd(b_.CreateLoad(words, cells.number), b_.CreateStepVector(words));
}

void ReductionEmitter::store_numbers(const BestCells &cells, V numbers, uint32_t count) {
  auto *words = llvm::FixedVectorType::get(number_type(*cells.selection), count);
  b_.CreateStore(b_.CreateSub(numbers, b_.CreateStepVector(words)), cells.number);
}

/// Lets lanes that find a better value keep this value and the number of the iteration. Uses no branch: in
/// rows of a few chunks nearly every chunk has such a lane.
void ReductionEmitter::update(const ArgReduction &s) {
  const BestCells *cells = nullptr;
  for (const BestCells &c : cx_.vector->outer->bests)
    if (c.selection->at == s.at) cells = &c;
  const ArgReductionForm &n = s.selection;
  V value = vectors().widen(n.value), best = b_.CreateLoad(value->getType(), cells->best);
  V better = n.best_is_left ? ops().compare(n.op, n.best->dtype, best, value)
                            : ops().compare(n.op, n.best->dtype, value, best);
  V mask = vectors().and_mask(cx_.vector->mask, better);
  V here = vectors().splat(b_.CreateTrunc(cx_.vector->number, number_type(s)));
  b_.CreateStore(b_.CreateSelect(mask, value, best), cells->best);
  b_.CreateStore(b_.CreateSelect(mask, here, b_.CreateLoad(here->getType(), cells->number)), cells->number);
  cx_.memo.clear(), cx_.vector->memo.clear();
}

/// Folds lane l + half into lane l until `to` lanes are left: the better value stays. Of equal values, the
/// one that the serial loop keeps stays.
std::pair<llvm::Value *, llvm::Value *> ReductionEmitter::folded(const BestCells &cells, uint32_t from,
                                                                 uint32_t to) {
  const ArgReductionForm &n = cells.selection->selection;
  DType t = n.best->dtype;
  V best = b_.CreateLoad(llvm::FixedVectorType::get(ops().type(t), from), cells.best);
  V number = load_numbers(cells, from);
  for (uint32_t half = from / 2; half >= to && half >= 1; half /= 2) {
    auto [a, b] = halves(best, half);
    auto [at_a, at_b] = halves(number, half);
    V better = n.best_is_left ? ops().compare(BinOp::lt, t, a, b) : ops().compare(BinOp::lt, t, b, a);
    V kept = n.op == BinOp::lt ? b_.CreateICmpULT(at_b, at_a) : b_.CreateICmpSGT(at_b, at_a);
    V take = b_.CreateOr(better, b_.CreateAnd(ops().compare(BinOp::eq, t, a, b), kept));
    best = b_.CreateSelect(take, b, a), number = b_.CreateSelect(take, at_b, at_a);
  }
  return {best, number};
}

/// Folds the lanes of an arg-reduction from `from` to `to` lanes.
void ReductionEmitter::narrow_best(BestCells &cells, uint32_t from, uint32_t to) {
  const Buf &scalar = cells.selection->selection.best;
  auto [best, number] = folded(cells, from, to);
  cells.best = vector_variable(ops().type(scalar->dtype), to, scalar->sym->name);
  cells.number = vector_variable(number_type(*cells.selection), to, scalar->sym->name);
  b_.CreateStore(best, cells.best);
  store_numbers(cells, number, to);
}

/// Runs the iteration that the lanes have selected, if there is one.
void ReductionEmitter::close_best(const BestCells &cells, const For &n, const VectorizationAnalysis &view,
                                  V lo, uint32_t count) {
  V number = b_.CreateExtractElement(folded(cells, count, 1).second, uint64_t{0});
  BasicBlock *again = block("selected"), *done = block("kept");
  b_.CreateCondBr(b_.CreateICmpEQ(number, no_number(*cells.selection)), done, again);
  b_.SetInsertPoint(again);
  cx_.values[n.iter.get()] = loops().iteration(n, lo, b_.CreateZExt(number, b_.getInt64Ty()));
  {
    Scoped selected(cx_.selected, cells.selection);
    Scoped selected_view(cx_.selected_view, &view);
    statements().emit(n.body);
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  cx_.memo.clear();
}

/// Returns whether to skip a store while an iteration runs once more for an arg-reduction. The iteration has
/// executed all other stores before, in its lane.
bool ReductionEmitter::is_left_out(const Store &n) const {
  return cx_.selected && !cx_.selected->keeps(n.buf) && !cx_.selected_view->is_own(n.buf);
}

/// Returns whether to skip a branch, since it stores nothing that the arg-reduction keeps. Else the code of n
/// arg-reductions would hold the branches of all n in each.
bool ReductionEmitter::is_left_out(const If &n) const {
  if (!cx_.selected) return false;
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
