// Finds the values that a loop uses from outside: a back end that outlines the loop as a function passes
// them. The back end decides how.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/node.h"

namespace kw {

struct LoopCaptures {
  std::vector<Sym> symbols;  ///< without duplicates, in program order
  std::vector<Buf> buffers;  ///< likewise; includes mutable scalars, which the loop only reads
  std::unordered_set<const SymNode *> made;  ///< symbols and buffers that the loop itself defines
  bool checks = false;                       ///< the loop contains a check, which may fail
};

/// Returns what the body of a loop uses. Throws an internal error if the body stores to a mutable scalar from
/// outside: no iteration of a parallel loop may.
LoopCaptures captures_of(const For &loop);

}  // namespace kw
