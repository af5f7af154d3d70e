// Emits expressions outside vector loops, and uniform expressions inside them: values, loads, lazy operators.
// VectorEmitter emits the others.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

class ScalarEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  V expr(const Expr &e);
  /// Returns the address of an element.
  V address(const Buf &b, const std::vector<Expr> &index);
  /// Evaluates the common subexpressions of both sides of a branch, so that code does not double with each
  /// branch.
  void evaluate_common(const Expr &yes, const Expr &no);

 private:
  V expr_uncached(const Expr &e);
  V load(const Load &n);
  V select(const Select &n);
  V logic(const Logic &n);
  V lazily(V cond, const Expr &yes, const Expr &no, V yes_value, V no_value);
  bool is_known(const Expr &e) const;
};

}  // namespace kw
