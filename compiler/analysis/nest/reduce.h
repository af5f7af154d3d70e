// Recognizes reductions: the accesses of a store to its accumulator, and the loops whose iterations may be
// combined in any order. Ignores profit and changes no order of a sum.
#pragma once

#include <string_view>
#include <vector>

#include "ir/arg_reduction.h"

namespace kw {

enum class ReductionKind : uint8_t {
  none,
  sum,
  product,
  minimum,
  maximum,
  bit_and,
  bit_or,
  bit_xor,
  arg_reduction,  ///< `if x < best: best = x`, with companions from the same iteration
};

inline bool is_sum_or_product(ReductionKind kind) {
  return kind == ReductionKind::sum || kind == ReductionKind::product;
}

/// The role of an access in a reduction.
struct ReductionMark {
  ReductionKind kind = ReductionKind::none;
  const void *group = nullptr;  ///< for an arg-reduction, the If
  /// The innermost loops around the store whose iterations may be combined in any order (language.md 3); all
  /// of them if `any_order`.
  std::vector<const For *> free;
  bool any_order = false;

  explicit operator bool() const { return kind != ReductionKind::none; }
};

/// A store `x = x ⊕ term` whose term does not read x.
struct AccumulatingStore {
  ReductionMark mark;
  const ExprNode *read = nullptr;  ///< the Load of the accumulator
};
AccumulatingStore reduction_of(const Store &s, const std::vector<const For *> &loops);

/// Returns whether two iterations of the loop may swap accesses with these marks, apart from rounding (see
/// order_is_free).
bool relaxable(const ReductionMark &a, const ReductionMark &b);
/// Returns whether such a swap keeps every bit of the result.
bool order_is_free(const ReductionMark &a, const For *loop);

std::string_view reduction_verb(ReductionKind kind);
/// Returns the kind with its article: "a sum", "a maximum".
std::string_view reduction_noun(ReductionKind kind);

}  // namespace kw
