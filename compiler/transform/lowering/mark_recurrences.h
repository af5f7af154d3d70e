// Marks the scalars of recurrences of integer minima and maxima (edit distances, shortest paths). They are
// kept in vector registers, where a minimum is one instruction. In general registers it is a comparison and a
// conditional move, one after the other on the critical path.
//     best = alloc(i32, (), 'registers')   →   best = alloc(i32, (), 'registers', in_vector=1)
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func mark_recurrences(const Func &f, const Target &target);

}  // namespace kw
