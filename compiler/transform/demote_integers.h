// Demotes 32-bit integer arithmetic to 16 bits if all values fit, as those computed from bytes do. A vector
// register then holds twice as many.
//     cast(u8, min(cast(i32, a[i]) + cast(i32, b[i]), 255))
//         →   cast(u8, min(cast(i16, a[i]) + cast(i16, b[i]), 255))
// Runs after the last pass that reads conditions. Changes no value.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func demote_integers(const Func &f, const Target &target);

}  // namespace kw
