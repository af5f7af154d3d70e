// Decides which buffers start as zero: those that are not proved written before every read and, for outputs,
// before the return.
//     c = alloc(f32, (n,), 'heap', fill='zero')   →   c = alloc(f32, (n,), 'heap')     when every element is
//     written first
// Issues no warnings; analysis/init does.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func fill_buffers(const Func &f, const Target &target);

}  // namespace kw
