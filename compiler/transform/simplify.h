// Removes mutable scalars that are never read, with the stores to them.
//     t = alloc(f64, (), 'registers')
//     t[()] = 0.0                        →   (nothing)
// Constants are folded when nodes are built (ir/build), not here.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func simplify(const Func &f, const Target &target);

}  // namespace kw
