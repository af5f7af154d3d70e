// Loops over memory that is read along one of them and written along the other are cut into square blocks,
// whose lines stay in the first cache until all of each is used. Chooses no lanes.
//     for i: for j: c[i, j] = a[j, i]   →   strip i by 64, j by 64
#pragma once

#include "schedule/loop_nest.h"

namespace kw {

void strip_turned(LoopNest &nest);

}  // namespace kw
