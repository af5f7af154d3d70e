// Finds accesses that are out of bounds in every run (E301). transform/guard_bounds handles proved and
// conditional accesses.
#pragma once

#include <vector>

#include "analysis/affine.h"
#include "ir/func.h"
#include "support/diagnostic.h"

namespace kw {

std::vector<Diagnostic> find_bounds_errors(const Func &f, const SourceMap &sources);

/// Returns the text of a form for messages: "2 * a.shape[0] - 1".
std::string affine_text(const Func &f, const Affine &a);
/// Returns the text of an extent or index for messages: "a.shape[1]", "a.shape[0] - 1".
std::string bound_text(const Func &f, const Expr &e);
/// Returns a condition over sizes, or its negation, as the source could have it: "a.shape[1] < 64". A trip
/// count that is compared with a number above 0 appears as the length of its range.
std::string condition_text(const Func &f, const Expr &e, bool holds);

}  // namespace kw
