// A selection of a reduction that runs in parts (launches/rfactor): each part begins with what the loop began
// with, and numbers what it selects, so that of equal values the one of the serial loop is found.
#pragma once

#include <vector>

#include "analysis/gpu/combined_values.h"

namespace kw {

/// Builds the statements of these programs:
///     if x[i] < best: best = x[i]; at = i  →
///         for b in grid: own = best; own_at = at; number = -1
///                        for k in block: if x[k] < own: own = x[k]; own_at = k; number = k
///                        bests[b] = own; ats[b] = own_at; numbers[b] = number
///         for level: for g in block: the best of 4 parts, of those with a number
///         if 0 <= numbers[0]: best = bests[0]; at = ats[0]
class SelectedParts {
 public:
  /// `blocks`: how many parts there are. `most_blocks`: the same as a size of the call.
  SelectedParts(const Selection &s, Expr blocks, const Expr &most_blocks, Loc loc);

  const std::vector<Buf> &parts() const { return parts_; }  ///< of all blocks, in memory
  const std::vector<Buf> &cells() const { return cells_; }  ///< of the thread that has a block

  /// Returns the cell that stands for a buffer; null for others.
  Buf cell_of(const Buf &kept) const;
  /// Sets the cells to what the loop begins with.
  std::vector<Stmt> initialize() const;
  /// Returns the store of iteration k to a kept buffer.
  Stmt keep(const Store &n, const Expr &k) const;
  /// Stores the cells as the part of a block.
  std::vector<Stmt> store_parts(const Expr &block) const;
  /// Sets part `first` to the best of `count` parts, `apart` from one another.
  Stmt combine(const Expr &first, const Expr &apart, int64_t count) const;
  /// Takes the last part that is left, if anything was selected.
  Stmt take_total() const;

 private:
  const Buf &numbers() const { return parts_.back(); }
  Stmt if_better(const Expr &candidate, const Buf &best, const Buf &number, Stmt yes) const;

  ArgReductionForm form_;
  size_t best_;  ///< which of the kept buffers the condition compares
  Expr blocks_;
  Loc loc_;
  std::vector<Buf> cells_, parts_;  ///< of each kept buffer, then of the number
};

}  // namespace kw
