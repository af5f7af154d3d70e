// Instructions that only x86 has and no intrinsic of LLVM for all machines names. The callers ask the target
// whether it has them.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace kw {

/// x · 2^n for floats or vectors of them, rounded once also where the result is subnormal
/// (Target::has_scale).
llvm::Value *scale_by_power_of_two(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *n);

/// Orders non-temporal stores before what follows; without it other threads see them in no order.
void store_fence(llvm::IRBuilder<> &b);

}  // namespace kw
