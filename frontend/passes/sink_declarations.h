// Gives each iteration its own copy of a local that carries no value between iterations. The front end gives
// a name one cell around all loops that use it. If a loop writes the cell before it reads it, and no read
// follows the loop, the cell moves into the loop. So the reuse of a name decides neither the order of a sum
// nor whether a loop can be parallelized. Works on cells (ir/node, Alloc), not on the source.
#pragma once

#include "ir/func.h"

namespace kw {

/// Moves each cell into the innermost loop that carries none of its values to a later iteration or out of the
/// loop. A moved cell that is stored once, before all its reads, becomes a Let.
Func sink_declarations(const Func &f);

}  // namespace kw
