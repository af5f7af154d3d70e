// The order `lanes` of a sum or product (language.md 3). Element k of a block of 4,096 goes to lane k % 64;
// lanes and then blocks are folded pairwise. One RunningLanes holds the sum of one execution of a band.
#pragma once

#include <array>
#include <vector>

#include "ir/limits.h"
#include "ir/scalar_ops.h"

namespace kw {

class RunningLanes {
 public:
  RunningLanes(DType dtype, bool is_product)
      : op_(is_product ? BinOp::mul : BinOp::add), identity_(from_double(dtype, is_product ? 1.0 : -0.0)) {}

  /// Returns the lane that element k accumulates into.
  Value &lane(int64_t k) {
    auto b = static_cast<size_t>(k / sum_block);
    while (blocks_.size() <= b) {
      blocks_.emplace_back();
      blocks_.back().fill(identity_);
    }
    return blocks_[b][static_cast<size_t>(k % sum_lanes)];
  }

  /// Returns whether no iteration has added a term.
  bool empty() const { return blocks_.empty(); }
  /// Returns `before` combined with all lanes, folded in the order of language.md 3.
  Value finish(const Value &before);

 private:
  BinOp op_;
  Value identity_;
  std::vector<std::array<Value, sum_lanes>> blocks_;  ///< lanes of each block, made at its first element
};

}  // namespace kw
