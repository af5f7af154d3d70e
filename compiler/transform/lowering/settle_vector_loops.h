// Checks vector loops once more. A loop that code generation cannot vectorize becomes a serial loop, which
// means the same, and the function gets the warning W410. Under verify=each that is an internal error.
//     for i in vector(0, n, 1, vector_width=8): check(…)   →   for i in serial(0, n, 1): check(…)
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func settle_vector_loops(const Func &f, const Target &);

}  // namespace kw
