// Peels the first and last iterations of a loop if conditions, clamps or remainders treat them differently,
// as at the borders of an image. The iterations between them then run without the test.
//     for j in range(w): if j >= 1: c[j] = a[j - 1]   →   for j in range(1, w): c[j] = a[j - 1]
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

/// Returns whether it peeled a loop.
bool peel_boundaries(LoopNest &nest);

}  // namespace kw
