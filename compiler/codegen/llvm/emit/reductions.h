// Scalars from outside that a vector loop accumulates: each lane gathers a term of its own; behind the loop
// the lanes are folded. Of an arg-reduction, `if x < best: best = x; at = i`, each lane keeps its best and
// remembers the iteration that it comes from; the best lane's iteration then runs once more as scalar code,
// so that what is kept are the bits of the serial loop.
#pragma once

#include "analysis/vector/vectorization.h"
#include "codegen/llvm/emit/emitter.h"

namespace kw {

/// The best of each lane and the number of its iteration.
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

  /// Iterations after which numbers of 32 bits begin anew.
  static constexpr uint32_t most_numbers = uint32_t{1} << 30;

  ReductionCells open(const VectorizationAnalysis &view, uint32_t count);
  /// Folds `from` lanes to `to`.
  void narrow(ReductionCells &outer, uint32_t from, uint32_t to);
  /// Adds what the lanes gathered to the accumulators, and lets the scalars of arg-reductions be what they
  /// kept.
  void close(const ReductionCells &outer, const For &n, const VectorizationAnalysis &view, V lo,
             uint32_t count);
  /// The lanes that find something better take it, and remember where they are.
  void update(const ArgReduction &s);
  /// While an iteration runs once more for an arg-reduction: whether a statement stores to something else.
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
