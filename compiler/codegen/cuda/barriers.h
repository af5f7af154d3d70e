// Decides where the threads of a team wait for one another: between two statements that access one buffer,
// one of them to store, unless one thread executes both.
#pragma once

#include <functional>
#include <unordered_set>

#include "ir/node.h"

namespace kw {

struct TeamBarriers {
  std::unordered_set<const StmtNode *> before;  ///< these statements threads wait
  std::unordered_set<const StmtNode *>
      turns;  ///< and before they evaluate the conditions of these, each time
};
/// `body` is that of a grid loop with block loops in it; `is_memory` tells whether the threads of a team
/// share a buffer.
TeamBarriers team_barriers(const Stmt &body, const std::function<bool(const Buf &)> &is_memory);

}  // namespace kw
