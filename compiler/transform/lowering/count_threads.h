// Counts how many threads the work of each outermost parallel loop is worth, as an expression before the
// loop.
//     parallel(0, n, 1)   →   parallel(0, n, 1, most_threads=max(n * 3 >> 19, 1))
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func count_threads(const Func &f, const Target &target);

}  // namespace kw
