// Writes the largest trip count that the bounds of a loop allow into its plan, for code generation. A short
// loop does not poll the cancel flag, and a vector loop of one vector needs no loop at all.
//     for j in serial(b, min(n, b + 64), 1)   →   for j in serial(b, min(n, b + 64), 1, max_trips=64)
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func bound_trips(const Func &f, const Target &);

}  // namespace kw
