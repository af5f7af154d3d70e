// Eliminates common loads of copies of a loop-free body that execute one after the other. An element is
// loaded once, and a stored value that the next copy loads is forwarded. Asks nothing about dependences: the
// caller says in which buffers the copies do not interfere.
//     y[i] += a[i, 0]; y[i] += a[i, 1]   →   let v = y[i] + a[i, 0]: y[i] = v + a[i, 1]
#pragma once

#include <unordered_set>

#include "schedule/tree/statement_list.h"

namespace kw {

/// Returns the copies in order, with the same effects. The caller guarantees that in a buffer of `apart` no
/// copy accesses an element that another copy writes.
StatementList eliminate_common_loads(const std::vector<StatementList> &copies,
                                     const std::unordered_set<const BufNode *> &apart);

}  // namespace kw
