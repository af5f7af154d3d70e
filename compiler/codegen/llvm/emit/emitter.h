// The base of all emitters: the context, the builder, and handles to the other emitters, which call each
// other recursively. An emitter is made where it is needed and holds no state of its own.
#pragma once

#include "codegen/llvm/values/context.h"
#include "codegen/llvm/values/entry_of.h"
#include "codegen/llvm/values/ops.h"

namespace kw {

class LoopEmitter;
class RecurrenceEmitter;
class ReductionEmitter;
class RegionEmitter;
class ScalarEmitter;
class StatementEmitter;
class StreamEmitter;
class VectorEmitter;
class VectorLoopEmitter;

class Emitter {
 public:
  using V = llvm::Value *;

  explicit Emitter(EmitContext &cx) : cx_(cx), b_(cx.b) {}

 protected:
  OpEmitter ops() const { return OpEmitter(cx_); }
  ScalarEmitter scalars() const;
  StatementEmitter statements() const;
  LoopEmitter loops() const;
  RecurrenceEmitter recurrences() const;
  VectorEmitter vectors() const;
  VectorLoopEmitter vector_loops() const;
  ReductionEmitter reductions() const;
  StreamEmitter streams() const;
  RegionEmitter regions() const;

  const Target &target() const { return cx_.shared.target; }
  /// Emits an expression that no pass has lowered: an extent of a buffer, a size in the workspace, or a trip
  /// count.
  V value_of_size(const Expr &e) const;
  llvm::BasicBlock *block(const char *name) const {
    return llvm::BasicBlock::Create(b_.getContext(), name, cx_.fn);
  }
  /// Makes a stack variable at the entry of the function.
  llvm::AllocaInst *stack_variable(llvm::Type *t, const llvm::Twine &name) const {
    return llvm::IRBuilder<>(cx_.entry, cx_.entry->begin()).CreateAlloca(t, nullptr, name);
  }
  llvm::AllocaInst *vector_variable(llvm::Type *element, uint32_t count, const llvm::Twine &name) const {
    return stack_variable(llvm::FixedVectorType::get(element, count), name);
  }

  EmitContext &cx_;
  llvm::IRBuilder<> &b_;
};

/// Sets the attributes that every function of a kernel has.
void set_attributes(llvm::Function &fn, const Target &target);

}  // namespace kw
