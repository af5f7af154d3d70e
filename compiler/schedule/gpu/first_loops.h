// Goes down each path of a nest to the first loop that a step wants: outer loops come before those in them,
// which are then part of what the step does.
#pragma once

#include <functional>

#include "schedule/directives/loop_nest.h"

namespace kw {

/// What a step does with a loop: takes it, looks at the loops in it, or leaves it as it is.
enum class Choice { take, enter, leave };

/// Returns the iterators of the loops that `choose` takes, in source order. It gets a loop and its number.
std::vector<Sym> first_loops(const LoopNest &nest,
                             const std::function<Choice(const For &, uint32_t)> &choose);

}  // namespace kw
