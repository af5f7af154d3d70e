// Distributes a loop so that each loop in it, and the statements between them, get a loop of their own.
// Chooses nothing.
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

/// Distributes the loop at `place` among the loops in `around` (null: among the outermost loops). Returns the
/// places of the pieces; nothing if a directive is refused, with the nest as far as it got.
struct LoopPieces {
  size_t first = 0, count = 0;
};
std::optional<LoopPieces> distribute_all(LoopNest &nest, const Sym &around, size_t place);

/// Tiles a loop whose iterations may run in any order by `size`; returns the iterator over tiles, nothing if
/// that is refused.
std::optional<Sym> tile_parallel(LoopNest &nest, const Sym &iter, int64_t size);

/// Expands every scalar that an iteration writes outside of its inner loops to an array, so that no value
/// connects the pieces. Returns false if there are more than four or a directive is refused, with the nest as
/// far as it got.
bool expand_scalars(LoopNest &nest, const Sym &iter);

/// Returns the loop at such a place.
uint32_t loop_at(const Nest &nest, const Sym &around, size_t place);

}  // namespace kw
