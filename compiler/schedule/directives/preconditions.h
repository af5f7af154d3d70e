// Whether a directive fits the tree it is for: the loops are where it needs them, and nothing stands inside
// that it cannot move or copy. Says nothing of dependences, see schedule/directives/legal_order.
#pragma once

#include "schedule/directives/directives.h"

namespace kw {

/// Why a directive does not fit: a phrase for people, and what stands in the way.
struct Inapplicable {
  std::string_view why{};  ///< "" when it fits
  Loc at{};

  explicit operator bool() const { return !why.empty(); }
};

/// `region` is the tree of the nest. Sums that run in lanes keep their bands (language.md 3), Checks their
/// order among each other and among stores.
Inapplicable why_inapplicable(const Func &f, const Stmt &region, const Nest &nest, const Directive &d);

/// The names that the first `count` links of a body define and the others use, in their order; nothing when
/// one of them cannot be had twice: a buffer, or a value read from memory that the body writes.
std::optional<std::vector<size_t>> shared_definitions(const Stmt &body, size_t count);

}  // namespace kw
