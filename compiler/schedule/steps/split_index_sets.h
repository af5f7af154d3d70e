// Serial loops in which all dependences pass through one iteration: the iterations before it, itself and
// those behind it become loops of their own, of which the first and the last may run in any order. Keeps the
// order of all iterations.
//     for j in range(n): d[j] = d[j] + d[k]   →   for j in range(k): …   for j in (k,): …   for j in range(k
//     + 1, n): …
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void split_index_sets(LoopNest &nest);

/// True when it put a loop inside this one on threads, and not this one because that needs its order.
bool has_cut_inside(const For &loop);

}  // namespace kw
