// Every access of a function with what is known where it happens: the loops, guards and lazy conditions
// around it.
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
  bool guarded = false;  ///< inside an If, a While or a loop that a jump may end, or behind a lazy operator
  bool guard_varies = false;  ///< and what decides is not the same in the whole call
  /// Lazy conditions inside the statement under which the access happens: (condition, value it must have).
  std::vector<std::pair<Expr, bool>> path;
};

/// Calls `visit` for each access in order of evaluation. Register cells of rank 0 are not reported.
void for_each_access(const Func &f, bool extents_positive,
                     const std::function<void(const Access &, const BoundsContext &)> &visit);

/// The proof that index `dim` of the access is at least 0 and below the extent.
struct IndexProof {
  Proof low, high;
};
IndexProof prove_index(const Access &a, size_t dim, const BoundsContext &context);

/// Returns the strides of a buffer in elements: those that it states, or those of an array in C order.
std::vector<Expr> strides_of(const BufNode &b);

/// Elements that a place moves by when each subscript grows by so much; nothing when that is no constant.
/// `row` is how long rows are where the buffer does not tell.
std::optional<int64_t> elements_of(const BufNode &b, const std::vector<std::optional<int64_t>> &growth,
                                   std::optional<int64_t> row = std::nullopt);

}  // namespace kw
