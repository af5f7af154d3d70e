// Recognizes arg-reductions: conditionals that keep an extreme value and its companions.
//     if x < best: best = x; at = i
// The callers decide whether iterations may be reordered.
#pragma once

#include <vector>

#include "ir/node.h"

namespace kw {

/// The parts of an arg-reduction. Every store writes a fixed place, and a better iteration overwrites all of
/// them.
struct ArgReductionForm {
  const ExprNode *read = nullptr;  ///< the Load of `best` in the condition; null if there is no arg-reduction
  Buf best{};
  Expr value{};               ///< the value that is compared with `best` and stored there
  BinOp op{};                 ///< lt or le
  bool best_is_left = false;  ///< the condition is best < value (or <=): keeps the largest value
  std::vector<Buf> kept{};    ///< the buffers stored to, `best` included

  explicit operator bool() const { return read != nullptr; }
};
ArgReductionForm match_arg_reduction(const If &n);

}  // namespace kw
