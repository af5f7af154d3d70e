// Expressions: names, literals, subscripts and operators become operands, with the types that sema/infer
// gives them.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Lowers expressions to operands. Statements that an operand needs (calls, checks, temporaries) go to the
/// current builder, in front of the statement that uses the operand.
class ExpressionLowering : public Lowering {
 public:
  using Lowering::Lowering;

  Operand expression(const ast::ExprPtr &e);
  Operand scalar(const ast::ExprPtr &e);
  Operand captured(const Captured &c, const std::string &name, Loc loc);
  Operand combine(ast::Operator op, const Operand &a, const Operand &b, Loc loc);
  std::vector<Expr> indices(const Operand &tensor, const ast::Subscript &n, Loc loc);
  int64_t constant_int(const ast::ExprPtr &e, std::string_view what, Code code,
                       std::string_view help = constant_help);
  std::string buffer_help(const ast::ExprPtr &e, const Operand &tuple) const;
  /// Returns the advice for a float where an integer is needed: `help`, or the use of `//` if `/` made the
  /// float.
  std::string_view float_help(const Operand &o, const ast::Expr &e, std::string_view help) const;
  /// Lowers a loop bound or index to i64.
  Expr index_from(const ast::ExprPtr &e, std::string_view what);

 private:
  Operand name(const std::string &id, Loc loc);
  Operand integer_literal(const std::string &digits, Loc loc);
  Operand attribute(const ast::Attribute &n, Loc loc);
  Operand subscript(const ast::Subscript &n, Loc loc);
  Operand tuple_item(const Operand &tuple, const ast::Subscript &n, Loc loc);
  Operand comparison(const ast::CompareExpr &n, Loc loc);
  Operand boolean(const ast::BoolExpr &n, Loc loc);
  Operand ternary(const ast::Ternary &n, Loc loc);
  Operand binary_expr(const ast::BinaryExpr &n, Loc loc);
  void check_under(const Expr &cond, bool holds, const BlockBuilder &checks, Loc loc);
  Operand unary_expr(const ast::UnaryExpr &n, Loc loc);
  std::optional<bool> static_compare(ast::CompareOp op, const Operand &a, const Operand &b);
  std::string item_help(const ast::ExprPtr &e, const Operand &tuple) const;
  bool divides(const ast::Expr &e, int chain = 0) const;
  Operand read(const Binding &b, const std::string &name, Loc loc);
  bool is_local(const std::string &name) const;
  Operand apart(const ast::ExprPtr &e, BlockBuilder &builder);
  Expr decide_lazily(bool is_and, const Expr &so_far, BlockBuilder &&more, const Expr &value, Loc loc);
};

}  // namespace kw
