// Innermost loops that sum in lanes beside sums in source order: each kind gets a loop of its own, since
// lanes make the other one wait for every element.
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void distribute_reductions(LoopNest &nest);

}  // namespace kw
