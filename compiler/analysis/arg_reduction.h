// Conditionals that select the extreme of what a loop visits: `if x < best: best = x; at = i`. Recognition
// only: whether iterations that select may change places is for their readers to say.
#pragma once

#include <vector>

#include "ir/node.h"

namespace kw {

/// All that is stored is kept at one place each, and every iteration that is better overwrites all of it.
struct ArgReductionForm {
  const ExprNode *read = nullptr;  ///< the Load of `best` in the condition; null when it is no selection
  Buf best{};
  Expr value{};               ///< what is compared with it and kept there
  BinOp op{};                 ///< lt or le
  bool best_is_left = false;  ///< best < value: the largest is selected
  std::vector<Buf> kept{};    ///< the buffers stored to, `best` among them

  explicit operator bool() const { return read != nullptr; }
};
ArgReductionForm match_arg_reduction(const If &n);

}  // namespace kw
