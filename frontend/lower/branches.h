// Branches on conditions. If the condition is known at compile time, only the taken side is lowered. A long
// chain of elif becomes a binary search, because the depth of the IR is limited.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Lowers `if`, `elif` and `else`. Names that the two sides assign are merged after the branch.
class BranchLowering : public Lowering {
 public:
  using Lowering::Lowering;

  void if_statement(const ast::IfStmt &s, Loc loc);

 private:
  Expr condition(const ast::ExprPtr &e, Loc loc);
  void branch(const Expr &test, const std::function<void()> &lower_yes, const std::function<void()> &lower_no,
              const std::set<std::string> &names, Loc loc);
  static bool is_long_chain(const ast::IfStmt &s);
  void long_chain(const ast::IfStmt &s, Loc loc);
  void choose_block(const Expr &at, const std::vector<const ast::Block *> &blocks, size_t first, size_t end,
                    Loc loc);
};

}  // namespace kw
