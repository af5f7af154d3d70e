// float16 and bfloat16 become 16-bit words around float32 arithmetic, rounded after every operation:
//     c[i] = a[i] + b[i]   →   c[i] = narrow(widen(a[i]) + widen(b[i]))      with c, a, b of u16
// widen and narrow are integer operations, or casts between f16 and f32 where the target has them; all give
// the bits of ir/scalar_ops, NaNs and subnormals included. bfloat16 has no native form: the instructions that
// exist flush subnormals. Runs in the tail of a back end; the interpreter needs it not.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func legalise_types(const Func &f, const Target &target);

}  // namespace kw
