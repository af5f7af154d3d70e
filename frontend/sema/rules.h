// The rules of the language that need no types (E1xx). Each call checks the head of one statement or one node
// of an expression, not the statements or operands below it. Lowering calls them as it goes, so branches that
// are dead for the present types are never checked. check.cpp calls them for a whole kernel.
#pragma once

#include <string>

#include "frontend/ast.h"
#include "frontend/sema/resolve.h"
#include "frontend/words.h"
#include "ir/func.h"
#include "ir/signature.h"
#include "support/diagnostic.h"

namespace kw {

/// The arguments of a call that makes a buffer, passed by position or by keyword; absent ones are null.
struct BufferArguments {
  const ast::ExprPtr *shape = nullptr, *dtype = nullptr, *scope = nullptr;
  const ast::ExprPtr *value = nullptr;  ///< for np.full and np.full_like
  const ast::ExprPtr *order = nullptr;  ///< for NumPy's constructors
};
/// Reads the arguments of a call that makes a buffer. The shape of np.zeros_like and its relatives is the
/// tensor. Throws E104 for arguments that the call does not take, and E110 for the scope of an output.
BufferArguments buffer_arguments(const ast::CallExpr &n, std::string_view word, Loc loc);

/// Checks the statements of one function, in the order in which the caller passes them. Remembers which
/// outputs were declared and whether a return was seen.
class Rules {
 public:
  /// Stores references: all three arguments must outlive the rules.
  Rules(const ast::Function &f, const Names &names, const Captures &captures)
      : f_(f), names_(names), captures_(captures) {}

  /// Reports E112 for too many parameters, a bare `*` and refused names.
  void parameters(Sink &sink) const;
  /// Throws the errors of a statement's head. `top_level`: no loop or branch encloses the statement.
  void statement(const ast::Stmt &s, bool top_level);
  /// Marks the text as a helper that a kernel calls: it returns a scalar or nothing and declares no outputs.
  void set_helper() { helper_ = true; }
  /// Returns the Python function that a callee names; null if it names something else.
  const Captured *function_of(const ast::ExprPtr &callee) const;
  /// Throws the errors of the refused statements checked so far. Other errors may follow from the names that
  /// those statements would have bound.
  void throw_if_refused() const { refused_.throw_if_errors(); }
  /// Reports E108 if no return was among the statements.
  void missing_return(Sink &sink) const;
  /// Returns whether a well-placed return was seen.
  bool returned() const { return returned_; }
  /// Counts a return that the caller skips.
  void pass_over_return() { return_seen_ = true; }

  /// Records that the loop over this name was refused, so uses after the loop are not reported.
  void excuse(const std::string &name) { excused_.insert(name); }

  /// Throws if a kernel cannot use a captured value.
  void constant(const Captured &c, const std::string &id, Loc loc) const { captured(c, id, loc); }
  /// Throws the errors of one node of an expression.
  void expression(const ast::ExprPtr &e) const;
  /// Returns the language word that a callee names ("exp", "float32", "range").
  std::string callee_word(const ast::ExprPtr &callee) const;
  /// Returns "output_tensor", "allocate" or the word of a constructor if the call makes a buffer, under
  /// whatever name it was imported, else "".
  std::string buffer_word(const ast::CallExpr &n) const;
  /// Returns the buffer_word of the statement's value if it declares a buffer, else "".
  std::string declaration(const ast::Assign &s) const;
  /// Returns whether a declaration makes an output, by its word or because a return names it.
  bool is_output(const ast::Assign &s, std::string_view word) const;
  /// Returns the module whose attribute is taken; null if it is something else.
  const Captured *module_of(const ast::Attribute &n) const;
  /// Returns whether the name is a parameter, or is assigned or looped over by the kernel.
  bool is_bound(const std::string &id) const;
  bool is_parameter(const std::string &id) const;

 private:
  [[noreturn]] void refuse(const ast::Refused &s);
  void assign(const ast::Assign &s, Loc loc, bool top_level);
  void dtype_place(const ast::ExprPtr &e) const;
  void augmented(const ast::AugAssign &s, Loc loc) const;
  void target(const ast::ExprPtr &target) const;
  void loop(const ast::ForStmt &s) const;
  void scope(const ast::ExprPtr &e) const;
  void return_statement(const ast::ReturnStmt &s, Loc loc, bool top_level);
  void expression_statement(const ast::ExprStmt &s, Loc loc) const;
  void name(const std::string &id, Loc loc) const;
  [[noreturn]] void refuse_undefined(const std::string &id, Loc loc, std::string_view lead) const;
  [[noreturn]] void refuse_method(const ast::Attribute &n, Loc loc) const;
  void order_of_use(const std::string &id, Loc loc) const;
  void captured(const Captured &c, const std::string &id, Loc loc) const;
  void attribute(const ast::Attribute &n, Loc loc) const;
  void call(const ast::CallExpr &n, Loc loc) const;
  std::vector<std::string> known_names() const;

  const ast::Function &f_;
  const Names &names_;
  const Captures &captures_;
  std::set<std::string> excused_, outputs_;
  Sink refused_;  ///< errors of the statements that the parser refused, each once
  bool returned_ = false, return_seen_ = false, helper_ = false;
};

/// Refusals that both lowering (by types) and check (by the form of the source) throw.
[[noreturn]] void refuse_slice(const std::string &tensor, Loc loc);
/// Throws E115; `what` is "scalars", "a tuple", …
[[noreturn]] void refuse_result(std::string_view what, Loc loc);
/// Throws E116 for a step of 0.
[[noreturn]] void refuse_zero_step(Loc loc);
inline constexpr std::string_view constant_help = "use a literal or a captured constant";
inline constexpr std::string_view step_help =
    "use a literal or a captured constant, or count: "
    "`for t in range(ceil_div(stop - start, step)): i = start + t * step`";
/// Throws `code` for a value that must be a compile-time constant; `what` is its role: "the step of a loop".
[[noreturn]] void refuse_variable(std::string_view what, Code code, Loc loc,
                                  std::string_view help = constant_help);

}  // namespace kw
