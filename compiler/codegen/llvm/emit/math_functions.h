// Elementary functions that a kernel calls often have code of their own, which the calls share: the expansion
// of one sine is 400 instructions, so that 300 lines of sines would take 12 s to compile with one for each.
#pragma once

#include "codegen/llvm/values/context.h"

namespace kw {

/// Returns T fn(T) or T fn(T, T) of the module, over scalars or over as many lanes as a vector loop has.
llvm::Function *math_function(ModuleContext &shared, Fn fn, DType from, DType to, size_t arity,
                              uint32_t count);

}  // namespace kw
