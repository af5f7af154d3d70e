// Names of a kernel before typing: which are assigned, how often, and the innermost block that holds all uses
// of each. Types and values are the business of lowering.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "frontend/ast.h"

namespace kw {

struct LocalInfo {
  uint32_t assignments = 0;  ///< statements that assign the name; augmented ones count
  bool loop_variable = false;
  bool constant = false;             ///< of a const_range: a constant in each copy of the body
  bool point = false;                ///< stands for all indices of a grid
  const ast::Block *home = nullptr;  ///< innermost block around every occurrence
  /// What is assigned to the name as a whole; null for parts of tuples and augmented assignments.
  std::vector<const ast::Expr *> values;
};

/// A name that stands where a loop variable cannot.
enum class Misuse : uint8_t { assigned_in_loop, read_after_loop };

struct Names {
  std::map<std::string, LocalInfo> locals;
  std::map<const ast::Block *, std::set<std::string>> assigned;  ///< names assigned in a block or below it
  std::map<const ast::Block *, std::set<std::string>> looped;    ///< loop variables of a block or below it
  std::map<uint32_t, Misuse> misuses;                            ///< by the place where the name begins
  std::set<std::string> returned;                                ///< names in the function's return statement
};

Names resolve_names(const ast::Function &f);

/// Calls visit(name, loc) for every name read in an expression.
void for_each_name(const ast::ExprPtr &e, const std::function<void(const std::string &, Loc)> &visit);

}  // namespace kw
