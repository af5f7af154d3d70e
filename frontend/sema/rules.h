// The rules of the language that need no types (E1xx), asked of one statement's head or one expression's node
// at a time. Lowering asks on its way, so that a branch which is dead for the types at hand is never asked
// about; check asks of a whole kernel. They read no statement below a head and no operand below a node.
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
  const ast::ExprPtr *value = nullptr;  ///< of np.full and np.full_like
  const ast::ExprPtr *order = nullptr;  ///< of NumPy's constructors
};
/// Throws E104 for what such a call does not take, E110 for the scope of an output. The shape of a
/// constructor like a tensor is that tensor.
BufferArguments buffer_arguments(const ast::CallExpr &n, std::string_view word, Loc loc);

/// Judges the statements of one function, in the order in which the caller asks. Remembers which outputs were
/// declared and whether a return was seen.
class Rules {
 public:
  /// All three must outlive the rules.
  Rules(const ast::Function &f, const Names &names, const Captures &captures)
      : f_(f), names_(names), captures_(captures) {}

  /// E112 for the names of parameters.
  void parameters(Sink &sink) const;
  /// Throws what is wrong with a statement's head; `top_level` when no loop or branch stands around it.
  void statement(const ast::Stmt &s, bool top_level);
  /// The text is of a function that a kernel calls: it returns a scalar or nothing and declares no outputs.
  void set_helper() { helper_ = true; }
  /// The Python function that a callee names; null when it is something else.
  const Captured *function_of(const ast::ExprPtr &callee) const;
  /// Throws what the parser refused, if a statement of that kind was asked about: other errors may follow
  /// from the names that it would have bound.
  void throw_if_refused() const { refused_.throw_if_errors(); }
  /// E108 when no return was among the statements.
  void missing_return(Sink &sink) const;
  /// True after a well-placed return.
  bool returned() const { return returned_; }
  /// Counts a return that the caller passes over.
  void pass_over_return() { return_seen_ = true; }

  /// The loop over this name was refused: its uses after the loop are no faults of their own.
  void excuse(const std::string &name) { excused_.insert(name); }

  /// Throws when a captured value is none that a kernel can use.
  void constant(const Captured &c, const std::string &id, Loc loc) const { captured(c, id, loc); }
  /// Throws what is wrong with one node of an expression.
  void expression(const ast::ExprPtr &e) const;
  /// The language word that a callee names ("exp", "float32", "range").
  std::string callee_word(const ast::ExprPtr &callee) const;
  /// "output_tensor", "allocate" or the word of a constructor when the call makes a buffer, under whatever
  /// name it was imported, else "".
  std::string buffer_word(const ast::CallExpr &n) const;
  /// That word when the statement declares a buffer, else "".
  std::string declaration(const ast::Assign &s) const;
  /// Whether a declaration makes an output: by its word, or since a return names it.
  bool is_output(const ast::Assign &s, std::string_view word) const;
  /// The module that an attribute is taken of; null when it is something else.
  const Captured *module_of(const ast::Attribute &n) const;
  /// True for parameters and for what the kernel assigns or loops over.
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

/// Refusals that lowering finds by types and check by the form of the source.
[[noreturn]] void refuse_slice(const std::string &tensor, Loc loc);
/// E115; `what` is "scalars", "a tuple", …
[[noreturn]] void refuse_result(std::string_view what, Loc loc);
/// E116 for a step that is 0.
[[noreturn]] void refuse_zero_step(Loc loc);
inline constexpr std::string_view constant_help = "use a literal or a captured constant";
inline constexpr std::string_view step_help =
    "use a literal or a captured constant, or count: "
    "`for t in range(ceil_div(stop - start, step)): i = start + t * step`";
/// For a value that must be a compile-time constant; `what` is its role: "the step of a loop".
[[noreturn]] void refuse_variable(std::string_view what, Code code, Loc loc,
                                  std::string_view help = constant_help);

}  // namespace kw
