// Loops and the jumps that end their iterations. A loop is lowered repeatedly until the types of its
// variables no longer change.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Lowers `for` and `while`, and the jumps inside. Types at the head of a loop depend on its body, so a loop
/// is lowered repeatedly until they are stable. Each attempt can only widen them, so the attempts end.
class LoopLowering : public Lowering {
 public:
  using Lowering::Lowering;

  void for_statement(const ast::ForStmt &s, Loc loc);
  void while_statement(const ast::WhileStmt &s, Loc loc);
  void jump(bool is_break, Loc loc);
  // The three parts of a loop's lowering that const_range uses too.
  void leave_variables(const ast::ForStmt &s);
  Loop open_loop(const ast::Block &body, bool nested);
  void run_to_fixpoint(Loop &loop, const std::vector<Join *> &joins, const std::function<void()> &attempt);

 private:
  struct LoopHeader;
  LoopHeader loop_header(const ast::ForStmt &s);
  void grid_header(const ast::ForStmt &s, const ast::CallExpr &call, LoopHeader &h);
  void range_header(const ast::CallExpr &call, LoopHeader &h);
  Stmt for_attempt(const ast::ForStmt &s, const LoopHeader &h, Loop &loop);
  Stmt while_attempt(const ast::WhileStmt &s, Loc loc, Loop &loop);
  void renew_cells(const std::string &name, Binding &b);
  void begin_attempt(Loop &loop, bool ends);
  void end_attempt(Loop &loop, bool ends);
  void close_loop(Loop &loop, const Stmt &s, Loc loc);
};

}  // namespace kw
