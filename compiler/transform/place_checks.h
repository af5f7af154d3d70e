// Inserts statements before and after others: the last step of every pass that adds checks. Does not decide
// what is checked.
#pragma once

#include <unordered_map>
#include <vector>

#include "analysis/access.h"

namespace kw {

/// The statements to insert, keyed by the statement they belong to.
using Placed = std::unordered_map<const StmtNode *, std::vector<Stmt>>;

/// Returns the statement inside conditionals on the lazy conditions of an access.
Stmt under_path(const Access &a, Stmt s);

/// Returns the body with all statements inserted. A while with a checked condition becomes `while True` with
/// the checks and a break at its head, so that a `continue` cannot skip them.
Stmt place_checks(const Stmt &body, const Placed &before, const Placed &after = {});

}  // namespace kw
