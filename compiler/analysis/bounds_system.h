// Proves goals that replacing iterators one by one cannot prove: treats the loops, guards and definitions
// around a place as one linear system. Only proves: names no fact under which a goal would hold.
#pragma once

#include "analysis/value_ranges.h"

namespace kw {

/// Returns whether `goal >= 0` follows from the facts at the place, by elimination of variables.
bool follows_by_elimination(const PlaceFacts &facts, const Affine &goal);

}  // namespace kw
