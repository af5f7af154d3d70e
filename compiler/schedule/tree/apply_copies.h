// Duplicates a body, one copy after the other (unroll) or with the inner loops of the copies merged (jam).
// Knows nothing about the loop that the copies come from.
#pragma once

#include <unordered_set>

#include "analysis/nest/nest.h"
#include "schedule/tree/statement_list.h"

namespace kw {

/// Returns the bodies one after the other.
StatementList one_after_another(const std::vector<Stmt> &bodies);
/// Merges the bodies: first the statements before the first loop of all bodies, then one loop over the merged
/// inner bodies, and so on. Common loads execute once. The caller guarantees that in a buffer of `apart` no
/// copy accesses an element that another copy writes.
StatementList side_by_side(const std::vector<Stmt> &bodies, const std::unordered_set<const BufNode *> &apart);
/// Returns one copy of `body` for each of these values of an iterator, each with symbols of its own.
std::vector<Stmt> copies_of(const Stmt &body, const Sym &iter, const std::vector<Expr> &values);

}  // namespace kw
