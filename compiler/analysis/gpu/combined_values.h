// What the iterations of a block loop combine: sums, extremes and selections, in cells or elements that all
// of them share. Emits nothing.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/arg_reduction.h"
#include "ir/limits.h"
#include "ir/loops.h"

namespace kw {

/// Bytes of shared memory by which the warps of a block exchange values of up to 8 bytes.
inline constexpr int64_t exchanged_bytes = 8 * teams_of_block;

/// What a block loop accumulates in one cell, or in one element.
struct Accumulator {
  Buf cell;
  std::vector<Expr> place;  ///< the subscripts in the loop
  std::vector<Expr> index;  ///< the same without locals of the loop
  BinOp op;                 ///< add for differences
  Order order;              ///< `lanes`, or any
  bool is_fused;            ///< terms are products that round with the sum

  bool in_lanes() const { return order == Order::lanes; }
  /// Whether the value before the loop may take part once more for each thread.
  bool is_idempotent() const {
    return op == BinOp::min || op == BinOp::max || op == BinOp::bit_and || op == BinOp::bit_or;
  }
};

/// A conditional that keeps the best value, and what comes with it.
struct Selection {
  const If *at;
  ArgReductionForm form;
};

class CombinedValues {
 public:
  explicit CombinedValues(const For &loop);

  std::vector<Accumulator> accumulators;
  std::vector<Selection> selections;

 private:
  void select(const If &n);
  void accumulate(const Store &s);

  const For &loop_;
  LoopInvariance invariance_;
  std::unordered_set<const BufNode *> own_;  ///< made in the loop, or selected
};

}  // namespace kw
