// Integer division, shifts and vector conversions have their guards already
// (transform/lowering/guard_operations).
#include "codegen/llvm/values/ops.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "codegen/llvm/values/fmod.h"
#include "codegen/llvm/values/x86.h"

namespace kw {

using V = llvm::Value *;
namespace intrinsic = llvm::Intrinsic;

/// A bool is one bit, so `not` and `~` are the same instruction.
llvm::Value *OpEmitter::unary(UnOp op, DType t, V a) {
  if (op == UnOp::neg) return is_float(t) ? b_.CreateFNeg(a) : b_.CreateNeg(a);
  return b_.CreateNot(a);
}

/// `t` is the type of the operands; the result of a comparison is a bool.
llvm::Value *OpEmitter::binary(BinOp op, DType t, V a, V b) {
  if (op >= BinOp::lt) return compare(op, t, a, b);
  return is_float(t) ? float_binary(op, t, a, b) : integer_binary(op, t, a, b);
}

/// With a NaN, `<`, `<=` and `==` are false and `!=` is true.
llvm::Value *OpEmitter::compare(BinOp op, DType t, V a, V b) {
  using P = llvm::CmpInst::Predicate;
  bool is_signed = is_signed_int(t);
  switch (op) {
    case BinOp::lt:
      return is_float(t) ? b_.CreateFCmpOLT(a, b)
                         : b_.CreateICmp(is_signed ? P::ICMP_SLT : P::ICMP_ULT, a, b);
    case BinOp::le:
      return is_float(t) ? b_.CreateFCmpOLE(a, b)
                         : b_.CreateICmp(is_signed ? P::ICMP_SLE : P::ICMP_ULE, a, b);
    case BinOp::eq: return is_float(t) ? b_.CreateFCmpOEQ(a, b) : b_.CreateICmpEQ(a, b);
    default: return is_float(t) ? b_.CreateFCmpUNE(a, b) : b_.CreateICmpNE(a, b);
  }
}

/// Returns a select that stays one: the code generator would turn selects on a loop's critical path into
/// branches.
llvm::Value *OpEmitter::select_without_branch(V cond, V yes, V no) {
  V out = b_.CreateSelect(cond, yes, no);
  if (auto *made = llvm::dyn_cast<llvm::SelectInst>(out))
    made->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(b_.getContext(), {}));
  return out;
}

/// Returns a + b, where (x + c) + d becomes x + (c + d). Addresses of neighbouring iterations then differ by
/// their constants alone.
llvm::Value *OpEmitter::sum(V a, V b) {
  if (llvm::isa<llvm::ConstantInt>(a)) std::swap(a, b);
  auto *c = llvm::dyn_cast<llvm::ConstantInt>(b);
  if (!c) return b_.CreateAdd(a, b);
  llvm::APInt total = c->getValue();
  auto *inner = llvm::dyn_cast<llvm::BinaryOperator>(a);
  if (inner && inner->getOpcode() == llvm::Instruction::Add)
    if (auto *d = llvm::dyn_cast<llvm::ConstantInt>(inner->getOperand(1)))
      a = inner->getOperand(0), total += d->getValue();
  return total.isZero() ? a : b_.CreateAdd(a, llvm::ConstantInt::get(a->getType(), total));
}

/// Integers wrap. For bools, addition is `or` and multiplication is `and`, as in NumPy.
llvm::Value *OpEmitter::integer_binary(BinOp op, DType t, V a, V b) {
  bool is_signed = is_signed_int(t), is_bool = t == DType::b1;
  switch (op) {
    case BinOp::add: return is_bool ? b_.CreateOr(a, b) : sum(a, b);
    case BinOp::sub: {
      auto *c = llvm::dyn_cast<llvm::ConstantInt>(b);
      return c ? sum(a, llvm::ConstantInt::get(c->getType(), -c->getValue())) : b_.CreateSub(a, b);
    }
    case BinOp::mul: return is_bool ? b_.CreateAnd(a, b) : b_.CreateMul(a, b);
    case BinOp::min:
      if (!a->getType()->isVectorTy()) return select_without_branch(compare(BinOp::lt, t, a, b), a, b);
      return b_.CreateBinaryIntrinsic(is_signed ? intrinsic::smin : intrinsic::umin, a, b);
    case BinOp::max:
      if (!a->getType()->isVectorTy()) return select_without_branch(compare(BinOp::lt, t, b, a), a, b);
      return b_.CreateBinaryIntrinsic(is_signed ? intrinsic::smax : intrinsic::umax, a, b);
    case BinOp::bit_and: return b_.CreateAnd(a, b);
    case BinOp::bit_or: return b_.CreateOr(a, b);
    case BinOp::bit_xor: return b_.CreateXor(a, b);
    default: internal_error(__FILE__, __LINE__, "an integer operation that is not guarded");
  }
}

/// No flag of fast math is set: LLVM must keep every rounding.
llvm::Value *OpEmitter::float_binary(BinOp op, DType t, V a, V b) {
  if (op == BinOp::add || op == BinOp::sub || op == BinOp::mul) b = constant_operand(b);
  switch (op) {
    case BinOp::add: return b_.CreateFAdd(a, b);
    case BinOp::sub: return b_.CreateFSub(a, b);
    case BinOp::mul: return b_.CreateFMul(a, b);
    case BinOp::true_div: return b_.CreateFDiv(a, b);
    case BinOp::floor_div: return float_divmod(t, a, b, true);
    case BinOp::floor_mod: return float_divmod(t, a, b, false);
    case BinOp::min: return least(t, a, b);
    case BinOp::max: return largest(t, a, b);
    default: internal_error(__FILE__, __LINE__, "float operation without an instruction");
  }
}

static bool uses_select_minimum(const Target &target, DType t, V a) {
  return a->getType()->isVectorTy() && target.has_select_minimum(bit_width(t));
}

/// Returns the minimum by two selects `a < b ? a : b` with exchanged operands, each one instruction of x86.
/// They differ only for zeros and NaNs: the OR of their bits is then -0.0, or a NaN.
llvm::Value *OpEmitter::least(DType t, V a, V b) {
  if (!uses_select_minimum(shared_.target, t, a)) return b_.CreateBinaryIntrinsic(intrinsic::minimum, a, b);
  llvm::Type *bits = shaped_as(a, b_.getIntNTy(bit_width(t)));
  V one = b_.CreateSelect(b_.CreateFCmpOLT(a, b), a, b),
    other = b_.CreateSelect(b_.CreateFCmpOLT(b, a), b, a);
  return b_.CreateBitCast(b_.CreateOr(b_.CreateBitCast(one, bits), b_.CreateBitCast(other, bits)),
                          a->getType());
}

/// Returns the maximum as -min(-a, -b): sign changes are cheaper than tests for zeros and NaNs. With a
/// constant operand, LLVM needs no such tests.
llvm::Value *OpEmitter::largest(DType t, V a, V b) {
  bool known = llvm::isa<llvm::Constant>(a) || llvm::isa<llvm::Constant>(b);
  if (known || !uses_select_minimum(shared_.target, t, a))
    return b_.CreateBinaryIntrinsic(intrinsic::maximum, a, b);
  return b_.CreateFNeg(least(t, b_.CreateFNeg(a), b_.CreateFNeg(b)));
}

/// Returns the floor. Without an instruction for it LLVM would call the C library. Instead, adding and
/// subtracting 2^(mantissa bits) rounds, and a result that is too large is reduced by 1.
llvm::Value *OpEmitter::floor(DType t, V a) {
  if (shared_.target.has_rounding()) return b_.CreateUnaryIntrinsic(intrinsic::floor, a);
  V big = llvm::ConstantFP::get(a->getType(), t == DType::f32 ? 0x1p23 : 0x1p52);
  V size = b_.CreateUnaryIntrinsic(intrinsic::fabs, a);
  V rounded = b_.CreateBinaryIntrinsic(intrinsic::copysign, b_.CreateFSub(b_.CreateFAdd(size, big), big), a);
  V nearest = b_.CreateSelect(b_.CreateFCmpOLT(size, big), rounded, a);
  V one_less = b_.CreateFSub(nearest, llvm::ConstantFP::get(a->getType(), 1.0));
  return b_.CreateSelect(b_.CreateFCmpOGT(nearest, a), one_less, nearest);
}

/// Emits NumPy's divmod, without branches around the one call of fmod.
llvm::Value *OpEmitter::float_divmod(DType t, V a, V b, bool quotient) {
  llvm::Type *type_t = type(t);
  V zero = llvm::ConstantFP::get(type_t, 0.0), one = llvm::ConstantFP::get(type_t, 1.0);
  V r = b_.CreateCall(fmod_function(shared_, t), {a, b});
  V by_zero = b_.CreateFCmpOEQ(b, zero), has_rest = b_.CreateFCmpUNE(r, zero);
  V signs_differ = b_.CreateXor(b_.CreateFCmpOLT(b, zero), b_.CreateFCmpOLT(r, zero));
  V adjust = b_.CreateAnd(has_rest, signs_differ);
  if (!quotient) {
    V mod = b_.CreateSelect(adjust, b_.CreateFAdd(r, b), r);
    V signed_zero = b_.CreateBinaryIntrinsic(intrinsic::copysign, zero, b);
    mod = b_.CreateSelect(has_rest, mod, signed_zero);
    return b_.CreateSelect(by_zero, r, mod);
  }
  V exact = b_.CreateFDiv(a, b);
  V div = b_.CreateFDiv(b_.CreateFSub(a, r), b);
  div = b_.CreateSelect(adjust, b_.CreateFSub(div, one), div);
  V floored = floor(t, div);
  V far = b_.CreateFCmpOGT(b_.CreateFSub(div, floored), llvm::ConstantFP::get(type_t, 0.5));
  floored = b_.CreateSelect(far, b_.CreateFAdd(floored, one), floored);
  V signed_zero = b_.CreateBinaryIntrinsic(intrinsic::copysign, zero, exact);
  V result = b_.CreateSelect(b_.CreateFCmpUNE(div, zero), floored, signed_zero);
  return b_.CreateSelect(by_zero, exact, result);
}

llvm::Value *OpEmitter::convert(DType from, DType to, V a, bool in_range) {
  llvm::Type *type_to = shaped_as(a, type(to));
  if (to == DType::b1)
    return is_float(from) ? b_.CreateFCmpUNE(a, llvm::ConstantFP::get(a->getType(), 0.0))
                          : b_.CreateICmpNE(a, llvm::ConstantInt::get(a->getType(), 0));
  if (is_float(from) && is_float(to))
    return bit_width(to) > bit_width(from) ? b_.CreateFPExt(a, type_to) : b_.CreateFPTrunc(a, type_to);
  if (is_float(from)) {
    // LLVM leaves a conversion out of range undefined; the saturating one clamps, and NaN becomes 0.
    if (in_range) return is_signed_int(to) ? b_.CreateFPToSI(a, type_to) : b_.CreateFPToUI(a, type_to);
    return b_.CreateIntrinsic(is_signed_int(to) ? intrinsic::fptosi_sat : intrinsic::fptoui_sat,
                              {type_to, a->getType()}, {a});
  }
  if (is_float(to)) return is_signed_int(from) ? b_.CreateSIToFP(a, type_to) : b_.CreateUIToFP(a, type_to);
  return is_signed_int(from) ? b_.CreateSExtOrTrunc(a, type_to) : b_.CreateZExtOrTrunc(a, type_to);
}

/// Returns `element`, or a vector of as many elements as `v` has.
llvm::Type *OpEmitter::shaped_as(V v, llvm::Type *element) {
  auto *lanes = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return lanes ? llvm::FixedVectorType::get(element, lanes->getNumElements()) : element;
}

/// Returns a constant that fills one register as a load, which the instruction does itself. LLVM would
/// broadcast a scalar by a separate instruction in each iteration, since the long bodies of functions leave
/// no register for it. That is a third of all instructions that they execute. AVX-512 broadcasts as it reads.
llvm::Value *OpEmitter::constant_operand(V v) {
  auto *known = llvm::dyn_cast<llvm::Constant>(v);
  llvm::Type *t = v->getType();
  bool fills = t->isVectorTy() && t->getPrimitiveSizeInBits() == shared_.target.vector_bytes() * 8;
  if (!known || known->isZeroValue() || !fills || !shared_.target.prefers_constants_in_memory()) return v;
  auto same = [&](const llvm::GlobalVariable &g) {
    return g.hasInitializer() && g.getInitializer() == known;
  };
  auto found = std::find_if(shared_.module.global_begin(), shared_.module.global_end(), same);
  llvm::GlobalVariable *place = found == shared_.module.global_end() ? nullptr : &*found;
  if (!place) {  // "externally initialized": else the load would be folded
    place = new llvm::GlobalVariable(shared_.module, t, true, llvm::GlobalValue::PrivateLinkage, known,
                                     "constant", nullptr, llvm::GlobalValue::NotThreadLocal, 0, true);
    place->setAlignment(llvm::Align(shared_.target.vector_bytes()));
  }
  llvm::LoadInst *load = b_.CreateAlignedLoad(t, place, llvm::Align(shared_.target.vector_bytes()));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  return load;
}

/// Emits a function. `from` is the type of the arguments, scalars or vectors.
llvm::Value *OpEmitter::call(Fn fn, DType from, DType t, const std::vector<V> &args) {
  switch (fn) {
    case Fn::sqrt: return b_.CreateUnaryIntrinsic(intrinsic::sqrt, args[0]);
    case Fn::floor: return b_.CreateUnaryIntrinsic(intrinsic::floor, args[0]);
    case Fn::ceil: return b_.CreateUnaryIntrinsic(intrinsic::ceil, args[0]);
    case Fn::trunc: return b_.CreateUnaryIntrinsic(intrinsic::trunc, args[0]);
    case Fn::round: return b_.CreateUnaryIntrinsic(intrinsic::roundeven, args[0]);
    case Fn::popcount: return b_.CreateUnaryIntrinsic(intrinsic::ctpop, args[0]);
    case Fn::fmod: return b_.CreateCall(fmod_function(shared_, from), args);
    case Fn::abs:
      if (is_float(from)) return b_.CreateUnaryIntrinsic(intrinsic::fabs, args[0]);
      return is_signed_int(from) ? b_.CreateBinaryIntrinsic(intrinsic::abs, args[0], b_.getInt1(false))
                                 : args[0];
    case Fn::fma: {
      // An instruction reads one operand from memory: the addend if that is constant, else a factor.
      std::vector<V> read = args;
      size_t last = llvm::isa<llvm::Constant>(args[2]) ? 2 : llvm::isa<llvm::Constant>(args[1]) ? 1 : 0;
      read[last] = constant_operand(args[last]);
      return b_.CreateIntrinsic(intrinsic::fma, {args[0]->getType()}, read);
    }
    case Fn::to_bits:
    case Fn::from_bits: return b_.CreateBitCast(args[0], shaped_as(args[0], type(t)));
    case Fn::quotient:
      return is_signed_int(t) ? b_.CreateSDiv(args[0], args[1]) : b_.CreateUDiv(args[0], args[1]);
    case Fn::remainder:
      return is_signed_int(t) ? b_.CreateSRem(args[0], args[1]) : b_.CreateURem(args[0], args[1]);
    case Fn::shift_left: return b_.CreateShl(args[0], args[1]);
    case Fn::shift_right:
      return is_signed_int(t) ? b_.CreateAShr(args[0], args[1]) : b_.CreateLShr(args[0], args[1]);
    case Fn::scale: return scale_by_power_of_two(b_, args[0], args[1]);
    default: {
      auto *lanes = llvm::dyn_cast<llvm::FixedVectorType>(args[0]->getType());
      uint32_t count = lanes ? lanes->getNumElements() : 1;
      return b_.CreateCall(shared_.math_function(shared_, fn, from, t, args.size(), count), args);
    }
  }
}

llvm::Type *OpEmitter::type(DType t) {
  switch (t) {
    case DType::f16: return b_.getHalfTy();
    case DType::bf16: return b_.getBFloatTy();
    case DType::f32: return b_.getFloatTy();
    case DType::f64: return b_.getDoubleTy();
    default: return b_.getIntNTy(bit_width(t));
  }
}
llvm::Type *OpEmitter::memory_type(DType t) { return t == DType::b1 ? b_.getInt8Ty() : type(t); }
llvm::Value *OpEmitter::to_memory(V v, DType t) {
  return t == DType::b1 ? b_.CreateZExt(v, b_.getInt8Ty()) : v;
}
llvm::Value *OpEmitter::from_memory(V v, DType t) {
  return t == DType::b1 ? b_.CreateICmpNE(v, b_.getInt8(0)) : v;
}
llvm::Value *OpEmitter::literal(DType t, uint64_t bits) {
  auto *word = llvm::ConstantInt::get(b_.getContext(), llvm::APInt(bit_width(t), bits));
  return is_float(t) ? b_.CreateBitCast(word, type(t)) : static_cast<V>(word);
}

}  // namespace kw
