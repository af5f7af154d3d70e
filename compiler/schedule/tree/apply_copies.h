// Duplicates a body, one copy after the other (unroll) or with the inner loops of the copies merged (jam).
// Knows nothing about the loop that the copies come from.
#pragma once

#include <unordered_set>

#include "analysis/nest/nest.h"
#include "schedule/tree/statement_list.h"

namespace kw {

/// Returns the bodies one after the other.
StatementList one_after_another(const std::vector<Stmt> &bodies);
/// Merges the bodies: the statements before the first loop of each body, then that loop over the bodies of
/// all, and so on. Common loads execute once. No copy accesses what another copy writes in a buffer of
/// `apart`.
StatementList side_by_side(const std::vector<Stmt> &bodies, const std::unordered_set<const BufNode *> &apart);
/// Returns copies of `body` for these values of an iterator, each with symbols of its own.
std::vector<Stmt> copies_of(const Stmt &body, const Sym &iter, const std::vector<Expr> &values);

}  // namespace kw
