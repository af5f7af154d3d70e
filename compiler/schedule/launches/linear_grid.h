// Grid loops over a rectangle as one grid loop, for calls whose rows are too short for a block of threads, or
// whose arrays lie in memory as one row.
//     for i in grid: for j in grid: c[i, j] = a[i, j] + b[i, j]   →   if b_1 == a_1:
//         for k in grid(flatten=1, per_block=1024, vector_width=4): c[k // a_1, k % a_1] = …  else: …
#pragma once

#include <optional>
#include <vector>

#include "ir/func.h"

namespace kw {

/// Returns a grid loop and the grid loops that are all of it, outermost first.
std::vector<const For *> grid_nest(const For &outer);

/// Returns the conditions under which all arrays that the loops move through have an element for each
/// iteration, in the order of memory; nothing if no call is such. No condition: each call is.
std::optional<std::vector<Expr>> conditions_of_one_row(const std::vector<const For *> &loops);

/// How the one loop is launched: in blocks of so many iterations, of which a thread executes `vector` side by
/// side or `unroll` apart.
struct LinearPlan {
  int64_t below =
      0;  ///< for calls in which the innermost loop has fewer iterations; 0: for arrays of one row
  int64_t per_block = 1, vector = 0, unroll = 0;
};

/// Returns the one loop.
For linear_loop(const std::vector<const For *> &loops, const LinearPlan &plan);

/// Returns the loops, and the one loop for the calls that fit it.
Stmt with_linear_loop(const Stmt &outer, const LinearPlan &plan);

}  // namespace kw
