// Gives every iteration a local of its own where the program hands none on. A name that two loops use, or
// that was set before a loop, has one cell around all of them; a loop whose body writes the cell before it
// reads it, with no read behind the loop, means a new one in each iteration. So the name of a local decides
// neither the order of a sum nor what may run in parallel. Knows nothing of the source; works on cells
// (ir/node, Alloc).
#pragma once

#include "ir/func.h"

namespace kw {

/// Moves cells into the innermost loops that hand no value of theirs on, from one iteration or to what
/// follows; a cell that is then stored once, before all its reads, becomes a Let.
Func sink_declarations(const Func &f);

}  // namespace kw
