// Emits fmod as a function of the module: LLVM would call the C library's function, an undefined symbol.
// Exact for all arguments.
#pragma once

#include "codegen/llvm/values/context.h"

namespace kw {

/// Returns `T fmod(T, T)` of the module, for f32 or f64; made when it is first asked for.
llvm::Function *fmod_function(ModuleContext &shared, DType t);

}  // namespace kw
