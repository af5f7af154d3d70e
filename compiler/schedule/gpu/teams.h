// Chooses the loops inside a grid loop whose iterations the threads of a team share: those that access memory
// in order where the grid loop does not.
//     for i in grid: for j: s += x[i, j]   →   for i in grid(per_block=8): for j in block(threads=32): …
#pragma once

#include <vector>

#include "ir/limits.h"
#include "schedule/directives/loop_nest.h"

namespace kw {

/// Returns the iterators of loops inside the grid loop `grid` that a team of a warp is worth, outermost ones,
/// none of them inside another.
std::vector<Sym> loops_for_teams(const LoopNest &nest, const Sym &grid);
/// Returns the iterators of loops outside all grid loops that one team can execute.
std::vector<Sym> loops_for_one_team(const LoopNest &nest);

}  // namespace kw
