// Distributes an innermost loop that holds sums in the order `lanes` beside sums in source order. Each kind
// gets a loop of its own, since a source-order sum would serialize the vectors of the other.
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void distribute_reductions(LoopNest &nest);

}  // namespace kw
