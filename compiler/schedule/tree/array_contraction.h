// A temporary array of which each iteration of a loop uses one element becomes a scalar of the iteration.
// Knows nothing of directives or dependences.
//     t = alloc(f32, (n,)); for i: t[i] = a[i]; b[i] = t[i]   →   for i: t = a[i]; b[i] = t
#pragma once

#include "ir/node.h"

namespace kw {

/// True when the buffer has a rank and is made in the tree.
bool is_temporary(const Stmt &region, const Buf &buf);
/// True when the body of the loop writes an element of the buffer in each iteration before all else, no other
/// is used there, and none is used outside the loop.
bool uses_one_element(const Stmt &region, const For &loop, const Buf &buf);
/// The tree with such a buffer as a scalar of the loop's iterations.
Stmt contracted(const Stmt &region, const For &loop, const Buf &buf);

}  // namespace kw
