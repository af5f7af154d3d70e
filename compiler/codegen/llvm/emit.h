// IR → an llvm::Module with one exported function, kw_entry. Emits code in source order; a loop of the kind
// vector runs several iterations at once, a parallel one on several threads, others run serially.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

/// Adds kw_entry and the functions that it needs to the module.
void emit_function(llvm::Module &module, const Func &f, const Target &target);

}  // namespace kw
