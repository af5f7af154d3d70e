// Tiles of two loops whose threads copy squares of 4 × 4 or 2 × 2 elements in registers, in vectors on both
// sides. XOR puts the vectors of a column, to which threads side by side store, in different banks.
//     for k in block: row, column = k // 16, k % 16
//         for u: for v in vector: square[u, v] = x[first_j + 4 * row + u, first_i + 4 * column + v]
//         for v: for u in vector: tile[4 * column + v, 4 * (row ^ column) + u] = square[u, v]
//     for k in block: for u: for v in vector: y[…] = tile[4 * row + u, 4 * (column ^ row) + v]
#pragma once

#include <optional>
#include <vector>

#include "ir/func.h"

namespace kw {

/// The tiles, and the condition of the host for calls in which all vectors are whole and aligned.
struct VectorTiles {
  Expr fits;
  Stmt launch;
};

/// Returns nothing if accesses of the loops are no vectors, or an iteration is long. `grid` is the grid loop
/// around or null: it then has a block for each iteration. `misaligned` is that of the function.
std::optional<VectorTiles> vector_tiles(const For &outer, const For &inner, const std::vector<Buf> &buffers,
                                        const For *grid, const Sym &misaligned, const Loc &loc);

}  // namespace kw
