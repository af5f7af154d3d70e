// Loops over memory that is read along one of them and written along the other are cut into blocks: many
// lines of each row that is read, one line of each row that is written. Other elements than those that
// codegen turns over in registers go by squares that stay in the first cache. Chooses no lanes.
//     for i: for j: c[i, j] = a[j, i]   →   tile i by 256, j by 16
//     for i: for j: c[j, i] = a[i, j]   →   reorder j i; tile j by 256, i by 16
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void tile_transposed_accesses(LoopNest &nest);

}  // namespace kw
