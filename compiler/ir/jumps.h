// The jumps by which the iterations of a loop end early: what an analysis must know before it claims that
// every statement of every iteration runs. Knows nothing of conditions.
#pragma once

#include "ir/node.h"

namespace kw {

struct Jumps {
  bool breaks = false, continues = false;
  Loc first_break = {};  ///< in source order
  bool any() const { return breaks || continues; }
};

/// True when control surely leaves the statement by a jump.
bool always_jumps(const Stmt &s);

/// The jumps in a loop's body that belong to this loop.
Jumps jumps_of(const Stmt &body);

}  // namespace kw
