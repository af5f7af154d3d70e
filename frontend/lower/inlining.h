// Calls of Python functions: the callee is parsed and lowered in place. Its scalars are passed by value, its
// tensors by reference. Knows nothing of Python objects: texts and captured values come with the request.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Inlines calls of captured Python functions. Recursion is refused, so the depth of inlining is bounded.
class InlineLowering : public Lowering {
 public:
  using Lowering::Lowering;

  Operand inline_call(const Captured &c, const ast::CallExpr &n, Loc loc);
  void return_scalar(const ast::ReturnStmt &s);

 private:
  void refuse_recursion(const Captured &c, Loc loc) const;
  std::vector<Operand> arguments_of(const Captured &c, const ast::Function &f, const ast::CallExpr &n,
                                    Loc loc, const Captures &defaults,
                                    std::vector<const ast::ExprPtr *> &sources);
  void bind_argument(const ast::Parameter &p, Operand arg);
  Operand inlined_result(LowerContext &callee, const std::string &name, Loc loc);
};

}  // namespace kw
