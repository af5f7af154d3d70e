// Rewrites two loops as tiles of 32 × 32 to 128 × 128 for a GPU. What the inner loop would read with a stride
// is copied to memory that a block shares; `row` and `column` number elements without conflicts of banks.
//     for i: for j: y[i, j] = x[j, i]   →   for i0 in grid: for j0 in grid:
//         for k in block: tile[row(k), column(k)] = x[64 * j0 + row(k), 64 * i0 + column(k)]
//         for k in block: y[64 * i0 + row(k), 64 * j0 + column(k)] = tile[column(k), row(k)]
#pragma once

#include <vector>

#include "ir/func.h"

namespace kw {

/// Returns the buffers of which tiles can be copied and that the inner loop reads with a stride: every
/// iteration of the two loops reads one element, whose last subscript is the outer iterator, another one the
/// inner one, and the rest the same in a tile. Nothing is stored to them.
std::vector<Buf> stageable_buffers(const For &outer, const For &inner);

/// Returns the tiles, each in a block of its own.
Stmt staged_tiles(const For &outer, const For &inner, const std::vector<Buf> &buffers, const Loc &loc);

/// Returns whether a block has room for the smallest tiles of the buffers.
bool tiles_fit(const std::vector<Buf> &buffers);

}  // namespace kw
