// Rewrites two loops as tiles of 32 × 32, or 64 × 64 of elements below four bytes, for a GPU. What the inner
// loop would read with a stride is first copied to memory that the threads of a team share, along the outer
// loop.
//     for i: for j: y[i, j] = x[j, i]   →   for i0 in grid: for j0 in grid:
//         for k in block: tile[k // 32, k % 32] = x[j0 + k // 32, i0 + k % 32]
//         for k in block: y[i0 + k // 32, j0 + k % 32] = tile[k % 32, k // 32]
#pragma once

#include <vector>

#include "ir/func.h"

namespace kw {

/// Returns the buffers of which tiles can be copied and that the inner loop reads with a stride: every
/// iteration of the two loops reads one element, whose last subscript is the outer iterator, another one the
/// inner one, and the rest the same in a tile. Nothing is stored to them.
std::vector<Buf> stageable_buffers(const For &outer, const For &inner);

/// Returns the tiles, each in a team of its own, `teams` in a block.
Stmt staged_tiles(const For &outer, const For &inner, const std::vector<Buf> &buffers, int64_t teams,
                  const Loc &loc);

/// Returns how many teams of a block have room for their tiles; 0 if one has not.
int64_t teams_for_tiles(const std::vector<Buf> &buffers);

}  // namespace kw
