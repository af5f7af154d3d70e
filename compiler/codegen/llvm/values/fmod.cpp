// Divides the mantissas by long division, one bit at a time.
#include "codegen/llvm/values/fmod.h"

#include "support/text.h"

namespace kw {

using llvm::BasicBlock;
using llvm::Function;

namespace {

using V = llvm::Value *;

/// Builds `T fmod(T, T)`. Handles special values first, then splits off the exponents, and makes one
/// subtract-and-shift step per bit of their difference.
class FmodBuilder {
 public:
  FmodBuilder(Function *fn, DType t)
      : fn_(fn),
        b_(BasicBlock::Create(fn->getContext(), "entry", fn)),
        width_(bit_width(t)),
        // bits of the mantissa in memory
        mantissa_(t == DType::f32 ? 23 : 52) {
    word_ = b_.getIntNTy(width_);
  }

  void build() {
    V x = fn_->getArg(0), y = fn_->getArg(1);
    V bits_x = b_.CreateBitCast(x, word_), bits_y = b_.CreateBitCast(y, word_);
    // all bits but the sign
    V magnitude = number(~uint64_t{0} >> (65 - width_));
    V ax = b_.CreateAnd(bits_x, magnitude), ay = b_.CreateAnd(bits_y, magnitude),
      sign = b_.CreateXor(bits_x, ax);
    V infinity = number(((uint64_t{1} << (width_ - 1 - mantissa_)) - 1) << mantissa_);
    V invalid = b_.CreateOr(b_.CreateICmpEQ(ay, number(0)),
                            b_.CreateOr(b_.CreateICmpUGT(ay, infinity), b_.CreateICmpUGE(ax, infinity)));
    BasicBlock *on_invalid = block("invalid"), *finite = block("finite"), *same = block("same"),
               *divide = block("divide");
    b_.CreateCondBr(invalid, on_invalid, finite);
    b_.SetInsertPoint(on_invalid);
    // y is 0 or NaN, or x is infinite or NaN: the product makes 0 / 0, infinity / infinity or NaN
    V product = b_.CreateFMul(x, y);
    b_.CreateRet(b_.CreateFDiv(product, product));
    b_.SetInsertPoint(finite);
    // bits of magnitudes compare like the numbers; the smaller dividend is the result itself
    b_.CreateCondBr(b_.CreateICmpULT(ax, ay), same, divide);
    b_.SetInsertPoint(same);
    b_.CreateRet(x);
    b_.SetInsertPoint(divide);
    V exponent_x, mantissa_x, exponent_y, mantissa_y;
    split(ax, exponent_x, mantissa_x);
    split(ay, exponent_y, mantissa_y);
    V rest = long_division(mantissa_x, mantissa_y, b_.CreateSub(exponent_x, exponent_y));
    join(rest, exponent_y, sign);
  }

 private:
  V number(uint64_t v) { return llvm::ConstantInt::get(word_, v); }
  BasicBlock *block(const char *name) { return BasicBlock::Create(fn_->getContext(), name, fn_); }

  /// Splits a magnitude: value = mantissa · 2^(exponent). Subnormals have exponent 1 and no implicit bit.
  void split(V bits, V &exponent, V &mantissa) {
    V raw = b_.CreateLShr(bits, mantissa_);
    V fraction = b_.CreateAnd(bits, number((uint64_t{1} << mantissa_) - 1));
    V subnormal = b_.CreateICmpEQ(raw, number(0));
    exponent = b_.CreateSelect(subnormal, number(1), raw);
    mantissa = b_.CreateSelect(subnormal, fraction, b_.CreateOr(fraction, number(uint64_t{1} << mantissa_)));
  }

  /// Returns (x · 2^steps) mod y, one bit at a time; y may have leading zeros, so the rest stays below 2y.
  V long_division(V x, V y, V steps) {
    BasicBlock *before = b_.GetInsertBlock(), *loop = block("step"), *done = block("rest");
    V first = b_.CreateURem(x, y);
    b_.CreateCondBr(b_.CreateICmpEQ(steps, number(0)), done, loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode *rest = b_.CreatePHI(word_, 2), *left = b_.CreatePHI(word_, 2);
    rest->addIncoming(first, before);
    left->addIncoming(steps, before);
    V doubled = b_.CreateShl(rest, 1);
    V next = b_.CreateSelect(b_.CreateICmpUGE(doubled, y), b_.CreateSub(doubled, y), doubled);
    V remaining = b_.CreateSub(left, number(1));
    rest->addIncoming(next, loop);
    left->addIncoming(remaining, loop);
    b_.CreateCondBr(b_.CreateICmpEQ(remaining, number(0)), done, loop);
    b_.SetInsertPoint(done);
    llvm::PHINode *result = b_.CreatePHI(word_, 2);
    result->addIncoming(first, before);
    result->addIncoming(next, loop);
    return result;
  }

  /// Normalises rest · 2^exponent; the shift stops where the result is subnormal.
  void join(V rest, V exponent, V sign) {
    V zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, rest, b_.getInt1(false));
    V wanted = b_.CreateSub(zeros, number(width_ - 1 - mantissa_));
    V room = b_.CreateSub(exponent, number(1));
    V shift = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, wanted, room);
    V shifted = b_.CreateShl(rest, shift);
    V normal = b_.CreateICmpUGE(shifted, number(uint64_t{1} << mantissa_));
    V biased = b_.CreateSelect(normal, b_.CreateSub(exponent, shift), number(0));
    V fraction = b_.CreateAnd(shifted, number((uint64_t{1} << mantissa_) - 1));
    V bits = b_.CreateOr(b_.CreateOr(b_.CreateShl(biased, mantissa_), fraction), sign);
    V zero = b_.CreateICmpEQ(rest, number(0));
    b_.CreateRet(b_.CreateBitCast(b_.CreateSelect(zero, sign, bits), fn_->getReturnType()));
  }

  Function *fn_;
  llvm::IRBuilder<> b_;
  uint64_t width_, mantissa_;
  llvm::Type *word_;
};

}  // namespace

Function *fmod_function(ModuleContext &shared, DType t) {
  // one function for each type, made when a kernel first needs it
  Function *&fn = shared.fmods[static_cast<int>(t)];
  if (fn) return fn;
  llvm::LLVMContext &context = shared.module.getContext();
  llvm::Type *type = t == DType::f32 ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context);
  fn = Function::Create(llvm::FunctionType::get(type, {type, type}, false), Function::InternalLinkage,
                        cat("fmod_", short_name(t)), shared.module);
  fn->addFnAttr(llvm::Attribute::NoInline);
  fn->addFnAttr("no-builtins");
  fn->addFnAttr("frame-pointer", "all");
  fn->addFnAttr("target-features", shared.target.feature_text());
  fn->setDoesNotThrow();
  FmodBuilder(fn, t).build();
  return fn;
}

}  // namespace kw
