// Arithmetic of 32 bits whose values all fit into 16 bits, because it begins with bytes, is done in 16 bits:
// a vector register holds twice as many.
//     cast(u8, min(cast(i32, a[i]) + cast(i32, b[i]), 255))
//         →   cast(u8, min(cast(i16, a[i]) + cast(i16, b[i]), 255))
// Runs behind the last pass that looks at conditions; no value changes.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func demote_integers(const Func &f, const Target &target);

}  // namespace kw
