// The rewrites that write a body out several times, one copy behind the other or statement beside statement:
// what unroll and jam are made of. Knows nothing of the loop that the copies come from.
#pragma once

#include "schedule/nest.h"
#include "schedule/tree/chain.h"

namespace kw {

/// The bodies one after the other.
Chain one_after_another(const std::vector<Stmt> &bodies);
/// The same statement of all bodies, then the next one; loops become one loop over the bodies of all.
Chain side_by_side(const std::vector<Stmt> &bodies);
/// `body` with these values of an iterator, each copy with symbols of its own.
std::vector<Stmt> copies_of(const Stmt &body, const Sym &iter, const std::vector<Expr> &values);

}  // namespace kw
