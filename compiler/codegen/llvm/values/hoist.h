// Loop-invariant code motion for address arithmetic, while a loop is emitted. Moves nothing that could trap
// or read memory.
#pragma once

#include <llvm/IR/BasicBlock.h>

namespace kw {

/// Moves loop-invariant integers and addresses (the row of an access, trip counts) to the end of the block
/// `before`. The blocks of the loop are those after `last` in its function.
void hoist_invariants(llvm::BasicBlock *last, llvm::BasicBlock *before);

}  // namespace kw
