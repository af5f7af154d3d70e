// Instructions of x86 that no generic intrinsic of LLVM names. Callers ask the target whether it has these
// instructions.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace kw {

/// Returns x · 2^n for floats or vectors of floats, rounded once even if the result is subnormal
/// (Target::has_scale).
llvm::Value *scale_by_power_of_two(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *n);

/// Orders non-temporal stores before later stores; without the fence, other threads see them in no order.
void store_fence(llvm::IRBuilder<> &b);

}  // namespace kw
