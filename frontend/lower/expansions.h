// Expansion of const_range: one copy of the body per value, with the loop variable as a constant. A copy that
// jumps may end is a loop of one iteration.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Expands const_range in the front end:
///
///   for k in const_range(2): a[k] = t[k]    →    a[0] = t[0]; a[1] = t[1]
class ExpansionLowering : public Lowering {
 public:
  using Lowering::Lowering;

  void const_range(const ast::ForStmt &s);
  bool mentions_expanded(const ast::ExprPtr &e) const;

 private:
  std::vector<int64_t> const_values(const ast::CallExpr &call);
  void expand_copy(const ast::ForStmt &s, int64_t value, const Env &outside);
  void expand_with_jumps(const ast::ForStmt &s, const std::vector<int64_t> &values, std::vector<Join> &next,
                         Loop &loop);
};

}  // namespace kw
