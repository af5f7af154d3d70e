// Contracts a temporary array to a scalar if each iteration of a loop uses one element. Knows nothing about
// directives or dependences.
//     t = alloc(f32, (n,)); for i: t[i] = a[i]; b[i] = t[i]   →   for i: t = a[i]; b[i] = t
#pragma once

#include "ir/node.h"

namespace kw {

/// Returns whether the buffer is an array declared in the tree.
bool is_temporary(const Stmt &region, const Buf &buf);
/// Returns whether each iteration of the loop first writes an element of the buffer and uses no other
/// element. Nothing outside the loop may use the buffer.
bool uses_one_element(const Stmt &region, const For &loop, const Buf &buf);
/// Returns the tree with the buffer replaced by a scalar of each iteration.
Stmt contracted(const Stmt &region, const For &loop, const Buf &buf);

}  // namespace kw
