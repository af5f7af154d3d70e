// Splits the index set of a serial loop if all its dependences pass through one iteration. The iterations
// before it, that iteration and the iterations after it become three loops. The first and the last can then
// run in any order. Keeps the order of all iterations.
//     for j in range(n): d[j] = d[j] + d[k]   →   for j in range(k): …   for j in (k,): …   for j in range(k
//     + 1, n): …
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

void split_index_sets(LoopNest &nest);

/// Returns whether a loop inside this one was split so that threads can share it. This loop must then stay
/// serial.
bool has_cut_inside(const For &loop);

}  // namespace kw
