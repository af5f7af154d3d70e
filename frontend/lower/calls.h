// Calls of functions of the language: intrinsics, casts, select. Calls of Python functions go to
// InlineLowering.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Lowers calls. Arguments are evaluated from left to right, even if a later argument needs statements.
class CallLowering : public Lowering {
 public:
  using Lowering::Lowering;

  Operand call_expr(const ast::CallExpr &n, Loc loc);
  void warn_callee(const ast::ExprPtr &callee);
  /// Warns (W101), once per name, that a captured object hides a word of the language.
  void warn_shadow(const std::string &id, const Captured &c, Loc loc);

 private:
  Operand call_word(const std::string &word, const ast::CallExpr &n, Loc loc);
  Operand smallest(bool is_min, std::vector<Operand> args, Loc loc);
  /// Lowers a cast; `word` is `int`, `float`, `bool` or the name of a dtype.
  Operand cast_call(const std::string &word, Operand arg, Loc loc);
  Operand intrinsic_call(const std::string &word, std::vector<Operand> args, Loc loc);
  Operand rounded_to_int(Fn fn, Operand arg, Loc loc);
  Operand select_call(std::vector<Operand> args, Loc loc);
};

}  // namespace kw
