// The rewrites that write a body out several times, one copy behind the other or loop beside loop:
// what unroll and jam are made of. Knows nothing of the loop that the copies come from.
#pragma once

#include <unordered_set>

#include "analysis/nest/nest.h"
#include "schedule/tree/statement_list.h"

namespace kw {

/// The bodies one after the other.
StatementList one_after_another(const std::vector<Stmt> &bodies);
/// What stands before the first loop, of one body after the other; then that loop, over the bodies of all;
/// and so on. What they read alike is read once; of a buffer in `apart` no copy touches what another writes.
StatementList side_by_side(const std::vector<Stmt> &bodies, const std::unordered_set<const BufNode *> &apart);
/// `body` with these values of an iterator, each copy with symbols of its own.
std::vector<Stmt> copies_of(const Stmt &body, const Sym &iter, const std::vector<Expr> &values);

}  // namespace kw
