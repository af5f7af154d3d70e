// `while` in a vector loop: it runs until no lane goes on; lanes that have ended keep their values. What
// counts its iterations is the same in all lanes that go on, and stays a scalar.
// analysis/vector/vectorization decides which loops run so.
#pragma once

#include "codegen/llvm/emit/emitter.h"
#include "codegen/llvm/emit/vector.h"

namespace kw {

class VectorWhileEmitter : public Emitter {
 public:
  explicit VectorWhileEmitter(EmitContext &cx) : Emitter(cx), vec_(*cx.vector) {}

  void emit(const While &n);
  void jump(const Jump &n);
  /// Behind a statement by which lanes may have left the iteration of the enclosing `while`.
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
