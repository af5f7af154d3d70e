// Expressions outside vector loops, and those of a vector loop that are the same in all lanes: values, loads,
// lazy operators.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

class ScalarEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  V expr(const Expr &e);
  /// The address of an element.
  V address(const Buf &b, const std::vector<Expr> &index);
  /// Evaluates what both sides of a branch evaluate, so that code does not double with each branch.
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
