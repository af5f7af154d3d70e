// Operations on LLVM values, scalars and vectors alike: the counterpart of ir/scalar_ops. Creates
// instructions at the position of the builder and knows nothing of statements.
#pragma once

#include "codegen/llvm/values/context.h"
#include "ir/intrinsics.h"

namespace kw {

class OpEmitter {
 public:
  using V = llvm::Value *;

  explicit OpEmitter(EmitContext &cx) : shared_(cx.shared), b_(cx.b) {}

  V unary(UnOp op, DType t, V a);
  V binary(BinOp op, DType t, V a, V b);
  V compare(BinOp op, DType t, V a, V b);
  /// `in_range`: the integer type holds the whole part of the float.
  V convert(DType from, DType to, V a, bool in_range);
  /// `from` is the type of the arguments.
  V call(Fn fn, DType from, DType t, const std::vector<V> &args);
  /// Returns a + b, where (x + c) + d becomes x + (c + d). Addresses of neighbouring iterations then differ
  /// by their constants alone.
  V sum(V a, V b);
  /// Returns a select that stays one: LLVM turns selects on the critical path of a loop into branches.
  V select_without_branch(V cond, V yes, V no);

  llvm::Type *type(DType t);
  /// In memory a bool takes a byte.
  llvm::Type *memory_type(DType t);
  V to_memory(V v, DType t);
  V from_memory(V v, DType t);
  V literal(DType t, uint64_t bits);
  V signed_word(int64_t value) { return llvm::ConstantInt::getSigned(b_.getInt64Ty(), value); }
  /// Returns `element`, or a vector of as many elements as `v` has.
  static llvm::Type *shaped_as(V v, llvm::Type *element);

 private:
  V integer_binary(BinOp op, DType t, V a, V b);
  V float_binary(BinOp op, DType t, V a, V b);
  V least(DType t, V a, V b);
  V largest(DType t, V a, V b);
  V floor(DType t, V a);
  V float_divmod(DType t, V a, V b, bool quotient);
  V constant_operand(V v);

  ModuleContext &shared_;
  llvm::IRBuilder<> &b_;
};

}  // namespace kw
