// Emits statements in source order. Statements of a vector loop go to VectorEmitter first, which leaves
// uniform statements to this class.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

class StatementEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  /// Emits a statement and the statements after it in its block.
  void emit(const Stmt &root);
  /// Emits the body of a loop. Emission continues where the next iteration begins.
  void body_with_targets(const Stmt &body, llvm::BasicBlock *done);
  /// Records the address and the strides of a buffer in memory.
  void declare(const Buf &b, V base);
  /// Ends the kernel with a status. In a region, ends the chunk; the kernel then ends after the region.
  void end_with(uint32_t status);

 private:
  void statement(const Stmt &s);
  void kind(const Stmt &s);
  void store(const Store &n);
  void allocate(const Alloc &n);
  void zero_fill(const Buf &b);
  llvm::MDNode *mostly();
  void branch(const If &n);
  void check(const Check &n);
  void while_loop(const While &n);
  void jump(const Jump &n);
  llvm::Function *fault_function();
};

}  // namespace kw
