// Loop-invariant code motion for what addresses are made of, while a loop is emitted. Touches nothing that
// could trap or read memory.
#pragma once

#include <llvm/IR/BasicBlock.h>

namespace kw {

/// Moves integers and addresses that do not change in a loop (the row of an access, trip counts) to the end
/// of the block in front of it. The blocks of the loop are those behind `last` in its function.
void hoist_invariants(llvm::BasicBlock *last, llvm::BasicBlock *before);

}  // namespace kw
