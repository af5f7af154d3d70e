// Works on LLVM instructions, since addresses exist only there. LLVM's own pass would need its loop analyses
// first.
#include "codegen/llvm/values/hoist.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <unordered_set>

namespace kw {

using llvm::BasicBlock;

void hoist_invariants(BasicBlock *last, BasicBlock *before) {
  llvm::Instruction *end = before->getTerminator();
  if (!end) return;
  llvm::Function *fn = last->getParent();
  std::unordered_set<const llvm::Value *> inside;
  for (auto at = std::next(last->getIterator()); at != fn->end(); ++at)
    for (llvm::Instruction &i : *at) inside.insert(&i);
  // These instructions neither trap nor access memory, so they may run even if the loop has no iteration.
  // Division is missing here.
  auto is_plain = [](const llvm::Instruction &i) {
    using Op = llvm::Instruction;
    switch (i.getOpcode()) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::And:
      case Op::Or:
      case Op::Xor:
      case Op::LShr:
      case Op::AShr:
      case Op::ICmp:
      case Op::Select: return i.getType()->isIntegerTy() && i.getOperand(0)->getType()->isIntegerTy();
      case Op::GetElementPtr: return !i.getType()->isVectorTy();
      case Op::Call: return llvm::isa<llvm::MinMaxIntrinsic>(i) && i.getType()->isIntegerTy();
      default: return false;
    }
  };
  for (auto at = std::next(last->getIterator()); at != fn->end(); ++at)
    for (llvm::Instruction &i : llvm::make_early_inc_range(*at)) {
      bool changes =
          std::any_of(i.op_begin(), i.op_end(), [&](llvm::Value *v) { return inside.count(v) > 0; });
      if (changes || !is_plain(i)) continue;
      // The moved instruction leaves the set, so instructions that use it can follow.
      i.moveBefore(end->getIterator());
      inside.erase(&i);
    }
}

}  // namespace kw
