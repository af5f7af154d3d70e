// Rewrites a loop whose iterations run in their order, one after the other, for one team of a GPU: its
// threads copy parts of what the loop goes through to and from memory that they share.
//     for j: s += x[j]; y[j] = s   →   for j0: for k in block: x_part[k] = x[1024 j0 + k]
//         for j in (1024 j0, …): s += x_part[j - 1024 j0]; y_part[…] = s
//         for k in block: y[1024 j0 + k] = y_part[k]
#pragma once

#include "ir/func.h"

namespace kw {

/// Returns whether the loop goes through an array of which parts can be copied.
bool can_stage_chain(const For &loop);
/// Returns the bytes of memory that the team of such a loop shares.
int64_t bytes_of_chain(const For &loop);

/// Returns the loop over parts.
Stmt staged_chain(const For &loop, const Loc &loc);

}  // namespace kw
