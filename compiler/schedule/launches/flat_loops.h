// Perfectly nested loops over a rectangle as one loop.
//     for i in (0, n): for j in (0, m): x[i, j]   →   for k in (0, n * m): x[k // m, k % m]
#pragma once

#include <vector>

#include "ir/func.h"
#include "transform/copy.h"

namespace kw {

/// Returns the number of iterations of the loops.
Expr iterations_of(const std::vector<const For *> &loops);

/// Returns the body of the innermost loop, with the names of values between the loops.
Stmt innermost_body(const std::vector<const For *> &loops, Loc loc);

/// Returns the values of the iterators in iteration k of all loops, outermost first. Divides in the type of
/// k.
std::vector<Expr> iterators_at(const std::vector<const For *> &loops, const Expr &k);

/// Returns a copy of statements of the innermost body as iteration k of all loops. Sums that ran over the
/// loops run over the one of `k`.
Stmt flat_iteration(const std::vector<const For *> &loops, const Sym &k, const Stmt &body);

}  // namespace kw
