// Puts statements in front of (and behind) others: what every pass that adds checks ends with. Decides
// nothing about what is checked.
#pragma once

#include <unordered_map>
#include <vector>

#include "analysis/access.h"

namespace kw {

/// Statements to insert, by the statement that they belong to.
using Placed = std::unordered_map<const StmtNode *, std::vector<Stmt>>;

/// The statement as it runs where the access happens: under the lazy conditions around it.
Stmt under_path(const Access &a, Stmt s);

/// The body with everything in its place. A while whose condition is checked becomes `while True` with the
/// checks and a break at its head, so that a continue cannot pass them by.
Stmt place_checks(const Stmt &body, const Placed &before, const Placed &after = {});

}  // namespace kw
