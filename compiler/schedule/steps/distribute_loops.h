// A loop taken apart so that each loop in it, and what stands between them, is all that is in a loop of its
// own. Chooses nothing.
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

/// The places of the pieces among the loops that stand in `around` (null: among the outermost ones), of the
/// loop at `place` there; nothing when a step is refused, with the nest as it is then.
struct LoopPieces {
  size_t first = 0, count = 0;
};
std::optional<LoopPieces> distribute_all(LoopNest &nest, const Sym &around, size_t place);

/// Cuts a loop whose iterations may run in any order into stretches of `size`; returns the iterator over
/// stretches, nothing when that is refused.
std::optional<Sym> tile_parallel(LoopNest &nest, const Sym &iter, int64_t size);

/// Gives every scalar that an iteration of a loop writes, outside of the loops in it, an element of an array:
/// no value then stands between pieces. False when they are more than four or a step is refused, with the
/// nest as it is then.
bool expand_scalars(LoopNest &nest, const Sym &iter);

/// The loop at such a place.
uint32_t loop_at(const Nest &nest, const Sym &around, size_t place);

}  // namespace kw
