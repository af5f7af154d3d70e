// The meaning of a name where several paths of control flow meet: its cell in the merged type, or a conflict
// that is reported when the name is read.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Merges environments where paths of control flow meet. Changes only the bindings of the given names, which
/// are the names that the paths can change.
class MergeLowering : public Lowering {
 public:
  using Lowering::Lowering;

  /// Merges the two sides of a branch and appends the conversions to both. The current environment is that of
  /// `no`.
  void meet(const Env &before, const Env &after_yes, BlockBuilder &yes, BlockBuilder &no,
            const std::set<std::string> &names);
  /// Merges the current environment into a join, and emits conversions to the join's types here.
  void arrive(Join &join, const std::set<std::string> &names);
  /// Makes names unassigned if their values exist only inside the block that control leaves.
  void leave_block(const Env &outside, const std::set<std::string> &names);
  void convert_cells(const Env &from, const Env &to, const std::set<std::string> &names);
  static bool cells_differ(const Env &from, const Env &to, const std::set<std::string> &names);
  std::set<std::string> changed_in(const ast::Block &b) const;
  const std::set<std::string> &looped_in(const ast::Block &b) const;

 private:
  Binding merge(const std::string &name, const Binding *a, const Binding *b);
  Merge clash_of(const std::string &name, const Binding &a, const Binding &b) const;
  void report_range(const Expr &value, DType to, Loc loc);
  void convert_cell(const Binding &from, const Binding &to);
};

}  // namespace kw
