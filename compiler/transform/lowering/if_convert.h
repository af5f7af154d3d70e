// Decides which conditions become branches. Code that is safe to execute and costs less than a mispredicted
// branch is executed in any case.
//     x if c else y       →   select(c, x, y): both sides are evaluated
//     a and b             →   a & b
//     if c: cell = v      →   cell = select(c, v, cell)
//     if c: cell = v      →   if predicated(c): cell = v, in a vector loop: under the mask of c, no branch
#pragma once

#include <unordered_set>

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func if_convert(const Func &f, const Target &);

/// Converts an expression, or a statement outside all loops, that belongs to no function yet.
Expr if_convert(const Expr &e);
Stmt if_convert(const Stmt &s);

/// Returns the store of `if cond: cell = value` outside vector loops if the pass makes it a select; else
/// null. `in_vectors` are the mutable scalars that vector registers hold.
const Store *store_to_select(const If &n, const std::unordered_set<const BufNode *> &in_vectors);

/// Returns the mutable scalars that vector registers hold (Alloc::in_vector).
std::unordered_set<const BufNode *> cells_in_vectors(const Stmt &body);

}  // namespace kw
