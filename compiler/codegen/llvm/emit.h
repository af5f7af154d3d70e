// Emits a function as an llvm::Module with one exported function, kw_entry. Code is in source order. A vector
// loop runs several iterations at once, a parallel loop runs on several threads, and an unroll loop holds
// several copies of its body. All other loops run one iteration at a time.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

/// Adds kw_entry and the functions that it needs to the module; with `places`, also line tables.
void emit_function(llvm::Module &module, const Func &f, const Target &target, const SourcePlaces *places);

}  // namespace kw
