// Loops of a team that begin with copies to memory that it shares. The copies of later iterations can be
// under way while one executes (software pipelining). Emits nothing.
//     for j0: for k in block: part[k] = x[j0, k];  for k in …: … part[k] …
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/node.h"

namespace kw {

/// What a pipelined iteration begins with.
struct Pipeline {
  std::vector<const Let *> names;  ///< before the copies
  Stmt copies;                     ///< a block loop
  std::vector<Buf> parts;          ///< that it stores to
};

/// Returns the copies of a serial loop that counts from 0, if it begins with a block loop that only copies
/// elements to arrays of the team, and no jump ends it.
std::optional<Pipeline> pipeline_of(const For &loop);

/// Returns the arrays of pipelined loops, each with the most stages that a loop has for it.
std::unordered_map<const BufNode *, uint32_t> stages_of(const Stmt &body);

}  // namespace kw
