// Statements. If a statement has an error, the error is recorded and the names that it binds count as known.
// Lowering continues with the next statement, so that one fault gives one message.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Lowers the statements of a block into the current builder, up to the first jump.
class StatementLowering : public Lowering {
 public:
  using Lowering::Lowering;

  void statements(const ast::Block &block);
  void assign_name(const std::string &name, Operand value, Loc loc, Loc name_loc);
  Expr store_value(const Operand &value, DType to);

 private:
  /// Throws E122 at the first statement beyond the limit.
  void count_statement(const ast::Stmt &s);
  bool is_too_long() const { return cx_.wide.statements > most_statements; }
  void statement(const ast::Stmt &s);
  void assign(const ast::Assign &s, Loc loc);
  void refuse_sliced(const ast::ExprPtr &target);
  void assign_target(const ast::ExprPtr &target, Operand value, Loc loc);
  Binding variable(const std::string &name, Operand value, Loc loc, Loc name_loc);
  void note_local(const std::string &name, const Operand &value, Loc loc) const;
  Buf written_tensor(const ast::Subscript &target, Loc target_loc);
  void assign_element(const ast::Subscript &target, Loc target_loc, Operand value, Loc loc);
  void augmented(const ast::AugAssign &s, Loc loc);
  void scope_arguments(const ast::ExprPtr &context);
  void assertion(const ast::AssertStmt &s, Loc loc);
  void return_values(const ast::ReturnStmt &s);
  bool returns(const Buf &input) const;
  void poison(const ast::Stmt &s);
};

}  // namespace kw
