// Each function names one instruction by its intrinsic.
#include "codegen/llvm/values/x86.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <vector>

namespace kw {

using V = llvm::Value *;
namespace intrinsic = llvm::Intrinsic;

/// Splits vectors into whole registers of 64 bytes, padded with zeros, since the instruction takes these
/// only.
llvm::Value *scale_by_power_of_two(llvm::IRBuilder<> &b, V x, V n) {
  auto *lanes = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  llvm::Type *element = x->getType()->getScalarType();
  // The elements of a register of 64 bytes.
  uint32_t count = lanes ? lanes->getNumElements() : 1, most = element->isFloatTy() ? 16 : 8;
  auto *whole = llvm::FixedVectorType::get(element, most);
  V none = llvm::Constant::getNullValue(whole);
  auto register_of = [&](V v, uint32_t first) -> V {
    if (!lanes) return b.CreateInsertElement(none, v, uint64_t{0});
    std::vector<int> places(most);
    for (uint32_t l = 0; l < most; ++l) places[l] = static_cast<int>(std::min(first + l, count));
    return b.CreateShuffleVector(v, llvm::Constant::getNullValue(v->getType()), places);
  };
  auto id = element->isFloatTy() ? intrinsic::x86_avx512_mask_scalef_ps_512
                                 : intrinsic::x86_avx512_mask_scalef_pd_512;
  // Rounding 4: in the current direction, by default to nearest.
  V all = llvm::ConstantInt::getAllOnesValue(b.getIntNTy(most)), rounding = b.getInt32(4);
  V out = lanes ? llvm::PoisonValue::get(x->getType()) : nullptr;
  for (uint32_t first = 0; first < count; first += most) {
    V part = b.CreateIntrinsic(id, {}, {register_of(x, first), register_of(n, first), none, all, rounding});
    if (!lanes) return b.CreateExtractElement(part, uint64_t{0});
    std::vector<int> widened(count), places(count);
    for (uint32_t l = 0; l < count; ++l) {
      bool here = l >= first && l < first + most;
      widened[l] = here ? static_cast<int>(l - first) : -1;
      places[l] = static_cast<int>(here ? count + l : l);
    }
    out = b.CreateShuffleVector(out, b.CreateShuffleVector(part, widened), places);
  }
  return out;
}

void store_fence(llvm::IRBuilder<> &b) { b.CreateIntrinsic(b.getVoidTy(), intrinsic::x86_sse_sfence, {}); }

}  // namespace kw
