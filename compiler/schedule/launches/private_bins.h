// Gives each block of threads a copy of the elements into which it accumulates, in memory that it shares:
// threads that add to one element in memory wait for one another.
//     for i: h[x[i]] += 1  →  if h_0 <= 8192: for b in grid(atomics=(h,)):
//         for s in block: own[s] = 0;  for k in block(16384 b, …, atomics=(own,)): own[x[k]] += 1
//         for s in block: if own[s] != 0: h[s] += own[s]
#pragma once

#include <vector>

#include "ir/func.h"

namespace kw {

/// Returns whether a block can have a copy of the buffer in some call: its size follows from the call, its
/// rows lie end to end, and all that the loop accumulates in it is one operation.
bool can_have_bins(const For &loop, const Buf &buf);

/// Returns the statements that stand for the loops, which accumulate in `buf` and share nothing else.
Stmt with_private_bins(const std::vector<const For *> &loops, const Buf &buf, const Loc &loc);

}  // namespace kw
