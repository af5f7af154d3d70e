// What a loop uses from outside of it: a back end that makes a function of the loop hands these over. Says
// nothing of how: that is the back end's.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/node.h"

namespace kw {

struct LoopCaptures {
  std::vector<Sym> symbols;  ///< each once, in the order of the program
  std::vector<Buf> buffers;  ///< likewise; mutable scalars too, which are read but not written
  std::unordered_set<const SymNode *> made;  ///< symbols and buffers that the loop itself binds
  bool checks = false;                       ///< whether a check inside may fail
};

/// Returns what the body of a loop uses. Throws an internal error if it stores to a mutable scalar made
/// outside: no iteration of a parallel loop may.
LoopCaptures captures_of(const For &loop);

}  // namespace kw
