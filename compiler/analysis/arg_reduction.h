// Recognizes arg-reductions: conditionals that keep an extreme value and what belongs to it.
//     if x < best: best = x; at = i
// Whether iterations may be reordered is for the callers to decide.
#pragma once

#include <vector>

#include "ir/node.h"

namespace kw {

/// The parts of an arg-reduction. Every store in it writes a fixed place, and a better iteration overwrites
/// all.
struct ArgReductionForm {
  const ExprNode *read =
      nullptr;  ///< the Load of `best` in the condition; null if the If is no arg-reduction
  Buf best{};
  Expr value{};               ///< the value that is compared with `best` and stored there
  BinOp op{};                 ///< lt or le
  bool best_is_left = false;  ///< best < value: keeps the largest
  std::vector<Buf> kept{};    ///< the buffers that are stored to, `best` included

  explicit operator bool() const { return read != nullptr; }
};
ArgReductionForm match_arg_reduction(const If &n);

}  // namespace kw
