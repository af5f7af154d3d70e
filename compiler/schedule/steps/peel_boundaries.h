// Loops whose first or last iterations are told apart by conditions, clamps and remainders, as at the borders
// of an image: these iterations become loops of their own, and those between them run without the question.
//     for j in range(w): if j >= 1: c[j] = a[j - 1]   →   for j in range(1, w): c[j] = a[j - 1]
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

/// True when a loop was cut.
bool peel_boundaries(LoopNest &nest);

}  // namespace kw
