// Step: keeps values in registers that one iteration of an innermost loop stores and the next iteration loads
// (schedule/tree/carried_values).
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void scalar_replacement(LoopNest &nest);

}  // namespace kw
