// Rewrites float16 and bfloat16 to 16-bit words around float32 arithmetic, rounded after every operation:
//     c[i] = a[i] + b[i]   →   c[i] = narrow(widen(a[i]) + widen(b[i]))      with c, a, b of u16
// widen and narrow are integer operations, or casts between f16 and f32 if the target has them. All give the
// bits of ir/scalar_ops, NaNs and subnormals included. bfloat16 has no native form: the existing instructions
// flush subnormals. Runs near the end of a back end; the interpreter does not need it.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func legalise_types(const Func &f, const Target &target);

}  // namespace kw
