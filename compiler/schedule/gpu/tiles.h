// Loops that a GPU runs as tiles: where one of them reads in order what the other one reads with a stride.
// For schedule/gpu/map_grids.
#pragma once

#include <vector>

#include "schedule/directives/loop_nest.h"

namespace kw {

/// Launches the innermost loop and another one as tiles if that lets threads read and store side by side; in
/// calls with many small matrices a thread has an element. Returns whether it does.
///     for i: for j: for k: c[i, j, k] = a[j, k, i]   →   for j in grid: tiles over i and k
bool stage_tiles(LoopNest &nest, const std::vector<Sym> &loops);

}  // namespace kw
