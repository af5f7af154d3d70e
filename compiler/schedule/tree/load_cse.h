// What copies of a body without loops have in common when they come one after the other: an element that is
// read several times is read once, and what one copy stores and the next reads stays a value. Asks nothing
// about dependences: the caller tells which buffers the copies use apart from each other.
//     y[i] += a[i, 0]; y[i] += a[i, 1]   →   let v = y[i] + a[i, 0]: y[i] = v + a[i, 1]
#pragma once

#include <unordered_set>

#include "schedule/tree/statement_list.h"

namespace kw {

/// The copies in their order, with the same effects. Of a buffer in `apart` no copy touches an element that
/// another one writes.
StatementList eliminate_common_loads(const std::vector<StatementList> &copies,
                                     const std::unordered_set<const BufNode *> &apart);

}  // namespace kw
