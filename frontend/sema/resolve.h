// Names of a kernel before typing: which are assigned, how often, and the innermost block that holds all uses
// of each. Lowering finds types and values.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "frontend/ast.h"

namespace kw {

/// Facts about one name that the function assigns, loops over or reads.
struct LocalInfo {
  uint32_t assignments = 0;  ///< statements that assign the name; augmented ones count
  bool loop_variable = false;
  bool constant = false;             ///< variable of a const_range: a constant in each copy of the body
  bool point = false;                ///< the tuple of all indices of a grid
  const ast::Block *home = nullptr;  ///< innermost block around every occurrence; cells are allocated there
  /// The values that are assigned to the name as a whole; null for parts of tuples and augmented assignments.
  std::vector<const ast::Expr *> values;
};

/// A misplaced use of a loop variable.
enum class Misuse : uint8_t { assigned_in_loop, read_after_loop };

/// The names of one function. Blocks and values point into its tree, which must outlive them.
struct Names {
  std::map<std::string, LocalInfo> locals;
  std::map<const ast::Block *, std::set<std::string>> assigned;  ///< names assigned in a block or below it
  std::map<const ast::Block *, std::set<std::string>> looped;    ///< loop variables of a block or below it
  std::map<uint32_t, Misuse> misuses;                            ///< by the source offset of the name
  std::set<std::string> returned;                                ///< names in the function's return statement
};

/// Resolves the names of the whole body, dead branches included. A parameter is among the locals only if the
/// body mentions it.
Names resolve_names(const ast::Function &f);

/// Calls visit(name, loc) for every name read in an expression. A callee's name counts; attributes and the
/// names of keyword arguments do not.
void for_each_name(const ast::ExprPtr &e, const std::function<void(const std::string &, Loc)> &visit);

}  // namespace kw
