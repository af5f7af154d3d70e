// Rewrites two loops as tiles of 32 × 32 to 128 × 128 for a GPU. What the inner loop would read with a stride
// is copied to memory that a block shares, whose rows are one bank longer than those of the tile.
//     for i: for j: y[i, j] = x[j, i]   →   for i0 in grid: for j0 in grid:
//         for k in block: tile[k // 64, k % 64] = x[64 * j0 + k // 64, 64 * i0 + k % 64]
//         for k in block: y[64 * i0 + k // 64, 64 * j0 + k % 64] = tile[k % 64, k // 64]
#pragma once

#include <utility>
#include <vector>

#include "ir/func.h"

namespace kw {

/// Returns the buffers of which tiles can be copied and that the inner loop reads with a stride: every
/// iteration of the two loops reads one element, whose last subscript is the outer iterator, another one the
/// inner one, and the rest the same in a tile. Nothing is stored to them.
std::vector<Buf> stageable_buffers(const For &outer, const For &inner);

/// Returns these buffers and the subscripts with which an iteration loads them.
std::vector<std::pair<Buf, std::vector<Expr>>> staged_loads(const For &inner,
                                                            const std::vector<Buf> &buffers);
/// Returns the rows and columns of tiles of the buffers; 0 if a block has no room for the smallest.
int64_t side_of_tiles(const std::vector<Buf> &buffers);

/// Returns the tiles, each in a block of its own.
Stmt staged_tiles(const For &outer, const For &inner, const std::vector<Buf> &buffers, const Loc &loc);

}  // namespace kw
