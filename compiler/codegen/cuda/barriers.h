// Decides where the threads of a team wait for one another: between two statements that access one buffer,
// one of them to store, unless one thread executes both.
#pragma once

#include <functional>
#include <unordered_set>

#include "ir/node.h"

namespace kw {

/// Returns the statements before which the threads wait. `body` is that of a grid loop with block loops in
/// it; `is_memory` tells whether the threads of a team share a buffer.
std::unordered_set<const StmtNode *> team_barriers(const Stmt &body,
                                                   const std::function<bool(const Buf &)> &is_memory);

}  // namespace kw
