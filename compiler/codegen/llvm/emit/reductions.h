// Emits reductions of a vector loop into scalars from outside. Each lane accumulates on its own, and after
// the loop the lanes are folded. In an arg-reduction, `if x < best: best = x; at = i`, each lane keeps its
// best value and the number of its iteration. The iteration of the best lane then runs once more as scalar
// code, so that the scalars get the bits of the serial loop.
#pragma once

#include "analysis/vector/vectorization.h"
#include "codegen/llvm/emit/emitter.h"

namespace kw {

/// The best value of each lane, and the number of its iteration.
struct BestCells {
  const ArgReduction *selection;
  llvm::Value *best, *number;
};

struct ReductionCells {
  std::vector<std::pair<Reduction, llvm::Value *>> sums{};
  std::vector<BestCells> bests{};
};

class ReductionEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  /// Iterations after which the numbers of iterations begin anew, so that they fit 32 bits.
  static constexpr uint32_t most_numbers = uint32_t{1} << 30;

  ReductionCells open(const VectorizationAnalysis &view, uint32_t count);
  /// Folds `from` lanes to `to` lanes.
  void narrow(ReductionCells &outer, uint32_t from, uint32_t to);
  /// Folds the lanes into the scalars, and runs the iterations that arg-reductions have selected.
  void close(const ReductionCells &outer, const For &n, const VectorizationAnalysis &view, V lo,
             uint32_t count);
  /// Lets lanes that find a better value keep this value and the number of the iteration.
  void update(const ArgReduction &s);
  /// Return whether a statement is skipped while an iteration runs once more for an arg-reduction: it stores
  /// to something else.
  bool is_left_out(const Store &n) const;
  bool is_left_out(const If &n) const;

 private:
  V identity_of(const Reduction &sum, uint32_t count);
  std::pair<V, V> halves(V lanes, uint32_t half);
  V folded(const Reduction &sum, V lanes, uint32_t from, uint32_t to);
  llvm::IntegerType *number_type(const ArgReduction &s);
  V no_number(const ArgReduction &s);
  BestCells open_best(const ArgReduction &s, uint32_t count);
  V load_numbers(const BestCells &cells, uint32_t count);
  void store_numbers(const BestCells &cells, V numbers, uint32_t count);
  std::pair<V, V> folded(const BestCells &cells, uint32_t from, uint32_t to);
  void narrow_best(BestCells &cells, uint32_t from, uint32_t to);
  void close_best(const BestCells &cells, const For &n, const VectorizationAnalysis &view, V lo,
                  uint32_t count);
};

}  // namespace kw
