// Emits `while` loops in a vector loop. A loop runs until all lanes have left it; lanes that have left keep
// their values. Variables that count its iterations are uniform over the active lanes and stay scalars.
// analysis/vector/vectorization decides which loops have this form.
#pragma once

#include "codegen/llvm/emit/emitter.h"
#include "codegen/llvm/emit/vector.h"

namespace kw {

class VectorWhileEmitter : public Emitter {
 public:
  explicit VectorWhileEmitter(EmitContext &cx) : Emitter(cx), vec_(*cx.vector) {}

  void emit(const While &n);
  void jump(const Jump &n);
  /// Updates the mask after a statement by which lanes may have left the iteration of the enclosing `while`.
  void mask_out_exited_lanes();

 private:
  llvm::Type *words_type();
  V words_of(V mask);
  V mask_of(V words);
  void open_count(const UniformInduction &c);
  V active_lanes(const Expr &cond, V lanes, llvm::BasicBlock *none);
  void count_on(const While &n, V alive, V cell, llvm::BasicBlock *body, llvm::BasicBlock *done);

  VectorState &vec_;
};

}  // namespace kw
