// Checks the preconditions of directives on the tree: the loops are where the directive needs them, and
// contain nothing that it cannot move or copy. Says nothing about dependences (directives/legal_order).
#pragma once

#include "schedule/directives/directives.h"

namespace kw {

/// The reason why a directive is not applicable to a tree: a phrase for users, and the place in the way.
struct Inapplicable {
  std::string_view why{};  ///< "" if the directive is applicable
  Loc at{};

  explicit operator bool() const { return !why.empty(); }
};

/// Checks a directive against `region`, the tree of the nest. Sums in the order `lanes` keep their bands
/// (language.md 3), Checks keep their order among each other and among stores.
Inapplicable why_inapplicable(const Func &f, const Stmt &region, const Nest &nest, const Directive &d);

/// Returns, in order, the definitions among the first `count` statements of a body that later statements use.
/// Returns nothing if one of them cannot be duplicated: a buffer, or a value read from memory that the body
/// writes.
std::optional<std::vector<size_t>> shared_definitions(const Stmt &body, size_t count);

}  // namespace kw
