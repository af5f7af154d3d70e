// Emits functions for elementary functions that a kernel calls often, so that the calls share code. The
// expansion of one sine is 400 instructions: 300 lines of sines would take 12 s to compile with an expansion
// each.
#pragma once

#include "codegen/llvm/values/context.h"

namespace kw {

/// Returns the function T fn(T) or T fn(T, T) of the module, over scalars or over vectors of `count` lanes.
llvm::Function *math_function(ModuleContext &shared, Fn fn, DType from, DType to, size_t arity,
                              uint32_t count);

}  // namespace kw
