// Distributes a loop so that each inner loop, and each run of statements between inner loops, gets a loop of
// its own. Chooses nothing.
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

/// The places of the pieces among the loops around them.
struct LoopPieces {
  size_t first = 0, count = 0;
};
/// Distributes the loop at `place` among the loops in `around` (null: among the outermost loops). Returns the
/// places of the pieces. Returns nothing if a directive is refused; directives applied before stay.
std::optional<LoopPieces> distribute_all(LoopNest &nest, const Sym &around, size_t place);

/// Tiles a loop by `size` if its iterations may run in any order. Returns the iterator over tiles; nothing if
/// the directive is refused.
std::optional<Sym> tile_parallel(LoopNest &nest, const Sym &iter, int64_t size);

/// Expands every scalar that an iteration writes outside of its inner loops to an array, so that no value
/// connects the pieces. Returns false if there are more than four, or if a directive is refused; directives
/// applied before stay.
bool expand_scalars(LoopNest &nest, const Sym &iter);

/// Returns the number of the loop at `place` among the loops in `around`.
uint32_t loop_at(const Nest &nest, const Sym &around, size_t place);

}  // namespace kw
