// Proofs that replacing iterators one by one cannot find: the loops, guards and definitions around a place as
// one linear system. Proves only: it names no fact under which a goal would hold.
#pragma once

#include "analysis/value_ranges.h"

namespace kw {

/// Whether `goal >= 0` follows from what is known at the place, by elimination of variables.
bool follows_by_elimination(const PlaceFacts &facts, const Affine &goal);

}  // namespace kw
