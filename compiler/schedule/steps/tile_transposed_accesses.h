// Tiles two loops if memory is read along one and written along the other. A tile covers many cache lines of
// each row read, and one cache line of each row written. Elements that cannot be transposed in registers get
// square tiles that fit the L1 cache. Chooses no vectorization.
//     for i: for j: c[i, j] = a[j, i]   →   tile i by 256, j by 16
//     for i: for j: c[j, i] = a[i, j]   →   reorder j i; tile j by 256, i by 16
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void tile_transposed_accesses(LoopNest &nest);

}  // namespace kw
