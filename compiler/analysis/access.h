// Visits every access of a function with the facts that hold there: the enclosing loops, guards and lazy
// conditions.
#pragma once

#include <functional>

#include "analysis/interval.h"
#include "ir/func.h"

namespace kw {

struct Access {
  Stmt statement;  ///< the statement whose evaluation makes the access
  Loc loc;
  Buf buf;
  const std::vector<Expr> *index;
  bool is_store = false;
  bool guarded = false;       ///< inside an If, a While or a loop that a jump may end, or in a lazy operand
  bool guard_varies = false;  ///< the value of some guard may change within a call
  /// The lazy conditions inside the statement under which the access happens: (condition, required value).
  std::vector<std::pair<Expr, bool>> path;
};

/// Calls `visit` for each access in order of evaluation. Mutable scalars are not reported.
void for_each_access(const Func &f, bool extents_positive,
                     const std::function<void(const Access &, const BoundsContext &)> &visit);

/// The proofs that index `dim` of the access is at least 0 and below the extent.
struct IndexProof {
  Proof low, high;
};
IndexProof prove_index(const Access &a, size_t dim, const BoundsContext &context);

/// Returns the strides of a buffer in elements: the stated ones, or else those of an array in C order.
std::vector<Expr> strides_of(const BufNode &b);

/// Returns by how many elements an access moves if each subscript grows by `growth`; nothing if that is not
/// constant. `row` is the assumed row length if the last extent is unknown.
std::optional<int64_t> elements_of(const BufNode &b, const std::vector<std::optional<int64_t>> &growth,
                                   std::optional<int64_t> row = std::nullopt);

}  // namespace kw
