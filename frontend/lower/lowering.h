// State of one lowering: blocks under construction, bindings of names, mutable scalars. Internal to
// lower*.cpp.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "frontend/lower/lower.h"
#include "frontend/sema/infer.h"
#include "frontend/sema/rules.h"

namespace kw {

/// A statement list under construction; Lets and Allocs scope over what follows them.
class BlockBuilder {
 public:
  void add(Stmt s) {
    items_.push_back({std::move(s), {}, {}, {}, {}, {}});
    only_checks_ = false;
  }
  /// A statement that only checks: what stands beside it can remain an expression.
  void add_check(Stmt s) { items_.push_back({std::move(s), {}, {}, {}, {}, {}, true}); }
  void add_let(Sym sym, Expr value, Loc loc) {
    insert_let(items_.size(), std::move(sym), std::move(value), loc);
  }
  void add_alloc(Buf buf, Fill fill, Loc loc) {
    items_.push_back({{}, {}, {}, std::move(buf), fill, loc});
    only_checks_ = false;
  }
  /// In front of the item that stands at that place.
  void insert_let(size_t place, Sym sym, Expr value, Loc loc) {
    items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(place),
                  {{}, std::move(sym), std::move(value), {}, {}, loc});
    only_checks_ = false;
  }
  size_t size() const { return items_.size(); }
  /// True when elements of tensors are used from that place on, other than by checks.
  bool uses_elements_from(size_t place) const;
  Stmt finish(const std::vector<Buf> &cells) const;
  bool empty() const { return items_.empty(); }
  /// True also for an empty one.
  bool only_checks() const { return only_checks_; }
  /// Takes over the statements of another builder.
  void append(BlockBuilder &&other) {
    items_.insert(items_.end(), std::make_move_iterator(other.items_.begin()),
                  std::make_move_iterator(other.items_.end()));
    other.items_.clear();
    only_checks_ = only_checks_ && std::exchange(other.only_checks_, true);
  }

  std::vector<const ast::Block *> owners;  ///< the source blocks whose statements land here

 private:
  struct Item {
    Stmt stmt;
    Sym sym;
    Expr value;
    Buf buf;
    Fill fill;
    Loc loc;
    bool is_check = false;
  };
  std::vector<Item> items_;
  bool only_checks_ = true;
};

/// The elements in an operand that nobody may ask for are read all the same, for their subscripts.
void read_elements(const Expr &e, BlockBuilder &builder);

/// Directs statements to another builder while this lives.
class Building {
 public:
  Building(BlockBuilder *&slot, BlockBuilder &to) : slot_(slot), outer_(slot) { slot = &to; }
  ~Building() { slot_ = outer_; }
  Building(const Building &) = delete;

 private:
  BlockBuilder *&slot_;
  BlockBuilder *outer_;
};

/// Sets a word while this lives.
class Within {
 public:
  Within(std::string_view &slot, std::string_view word) : slot_(slot), outer_(slot) { slot = word; }
  ~Within() { slot_ = outer_; }
  Within(const Within &) = delete;

 private:
  std::string_view &slot_;
  std::string_view outer_;
};

/// What a name stands for at a point of the program.
struct Binding {
  enum class Kind : uint8_t { value, cell, tuple, iter, tensor, partial, conflict, poisoned };
  Kind kind = Kind::poisoned;
  Operand value;               ///< value, iter, tensor
  Buf cell;                    ///< cell
  ScalarType type;             ///< cell
  std::optional<Expr> known;   ///< cell: its value, when it follows from the call alone
  std::vector<Binding> items;  ///< tuple that is assigned again: each a cell, a value or a tuple
  Merge clash;                 ///< conflict: reported when the name is read
  Loc loc;

  bool is_variable() const { return kind == Kind::cell || kind == Kind::tuple; }
  /// Visits this binding and those of its items.
  void for_each(const std::function<void(Binding &)> &visit) {
    visit(*this);
    for (Binding &item : items) item.for_each(visit);
  }
};
using Env = std::map<std::string, Binding>;

/// "t[0]": an item of a tuple, in messages.
inline std::string item_name(const std::string &tuple, size_t k) {
  return tuple + "[" + std::to_string(k) + "]";
}

/// A place that several ways of control flow reach: the head of a loop, or what follows it.
struct Join {
  Env env;
  bool arrived = false;
  bool grew = false;  ///< a later way changed what an earlier one converted to: to be lowered again
};

/// A loop around the statement being lowered.
struct Loop {
  std::set<std::string> names;   ///< what the body assigns or loops over
  Env before;                    ///< at its entry
  Join next, exit;               ///< where `continue` and `break` go
  Buf left;                      ///< set by `break`, when that is to be told from the end of the loop
  bool tell = false;             ///< it is
  bool breaks = false;           ///< the body has a `break` of this loop
  std::set<std::string> faulty;  ///< names that a refused statement of the body would have bound first
};

/// True for what follows from extents and scalar arguments alone, and the iterators when these are allowed:
/// such values stay expressions, so that extents can use them.
bool is_call_constant(const Expr &e, bool iterators);

struct Cell {
  std::string name;
  ScalarType type;
  const ast::Block *home;
  Buf buf;
};

class Lowering {
 public:
  Lowering(const ast::Function &f, const FrontendInput &input, Sink &sink);
  Func run();

 private:
  // lower.cpp: the function and its statements
  void parameters();
  void parameter(size_t number, std::vector<Sym> &strides);
  Buf argument_buffer(size_t number) const;
  void captured_arrays(const Captures &captures, std::vector<Sym> &strides);
  Binding assigned_parameter(const ast::Parameter &p, const Operand &value);
  Buf parameter_buffer(const ast::Parameter &p, const ArgSpec &spec, std::vector<Sym> &strides);
  void statements(const ast::Block &block);
  /// Throws E122 at the first statement beyond the limit.
  void count_statement(const ast::Stmt &s);
  bool is_too_long() const { return root_->statements_ > most_statements; }
  void statement(const ast::Stmt &s);
  void assign(const ast::Assign &s, Loc loc);
  void refuse_sliced(const ast::ExprPtr &target);
  void assign_target(const ast::ExprPtr &target, Operand value, Loc loc);
  void evaluate_items(Operand &tuple);
  void assign_name(const std::string &name, Operand value, Loc loc, Loc name_loc);
  Binding variable(const std::string &name, Operand value, Loc loc, Loc name_loc);
  void note_local(const std::string &name, const Operand &value, Loc loc) const;
  Buf written_tensor(const ast::Subscript &target, Loc target_loc);
  void assign_element(const ast::Subscript &target, Loc target_loc, Operand value, Loc loc);
  void augmented(const ast::AugAssign &s, Loc loc);
  void scope_arguments(const ast::ExprPtr &context);
  void assertion(const ast::AssertStmt &s, Loc loc);
  void return_values(const ast::ReturnStmt &s);
  void finish_results();
  bool returns(const Buf &input) const;
  void report(const Diagnostic &d);
  void poison(const ast::Stmt &s);
  void leave_out() { root_->left_out_ = true; }

  // lower_control.cpp: branches, and what merges where ways meet
  Expr condition(const ast::ExprPtr &e, Loc loc);
  void if_statement(const ast::IfStmt &s, Loc loc);
  void branch(const Expr &test, const std::function<void()> &lower_yes, const std::function<void()> &lower_no,
              const std::set<std::string> &names, Loc loc);
  static bool is_long_chain(const ast::IfStmt &s);
  void long_chain(const ast::IfStmt &s, Loc loc);
  void choose_block(const Expr &at, const std::vector<const ast::Block *> &blocks, size_t first, size_t end,
                    Loc loc);
  void meet(const Env &before, const Env &after_yes, BlockBuilder &yes, BlockBuilder &no,
            const std::set<std::string> &names);
  void arrive(Join &join, const std::set<std::string> &names);
  void leave_block(const Env &outside, const std::set<std::string> &names);
  Binding merge(const std::string &name, const Binding *a, const Binding *b);
  Merge clash_of(const std::string &name, const Binding &a, const Binding &b) const;
  void report_range(const Expr &value, DType to, Loc loc);
  void convert_cell(const Binding &from, const Binding &to);
  void convert_cells(const Env &from, const Env &to, const std::set<std::string> &names);
  static bool cells_differ(const Env &from, const Env &to, const std::set<std::string> &names);
  std::set<std::string> changed_in(const ast::Block &b) const;
  const std::set<std::string> &looped_in(const ast::Block &b) const;

  // lower_loop.cpp: loops and jumps
  void for_statement(const ast::ForStmt &s, Loc loc);
  void while_statement(const ast::WhileStmt &s, Loc loc);
  void jump(bool is_break, Loc loc);
  void leave_variables(const ast::ForStmt &s);
  void const_range(const ast::ForStmt &s);
  std::vector<int64_t> const_values(const ast::CallExpr &call);
  void expand_copy(const ast::ForStmt &s, int64_t value, const Env &outside);
  void expand_with_jumps(const ast::ForStmt &s, const std::vector<int64_t> &values, std::vector<Join> &next,
                         Loop &loop);
  bool mentions_expanded(const ast::ExprPtr &e) const;
  struct LoopHeader;
  LoopHeader loop_header(const ast::ForStmt &s);
  void grid_header(const ast::ForStmt &s, const ast::CallExpr &call, LoopHeader &h);
  void range_header(const ast::CallExpr &call, LoopHeader &h);
  Stmt for_attempt(const ast::ForStmt &s, const LoopHeader &h, Loop &loop);
  Stmt while_attempt(const ast::WhileStmt &s, Loc loc, Loop &loop);
  Loop open_loop(const ast::Block &body, bool nested);
  void run_to_fixpoint(Loop &loop, const std::vector<Join *> &joins, const std::function<void()> &attempt);
  void renew_cells(const std::string &name, Binding &b);
  void begin_attempt(Loop &loop, bool ends);
  void end_attempt(Loop &loop, bool ends);
  void close_loop(Loop &loop, const Stmt &s, Loc loc);

  // lower_expr.cpp: expressions
  Operand expression(const ast::ExprPtr &e);
  Operand scalar(const ast::ExprPtr &e);
  Operand name(const std::string &id, Loc loc);
  Operand captured(const Captured &c, const std::string &name, Loc loc);
  Operand integer_literal(const std::string &digits, Loc loc);
  Operand attribute(const ast::Attribute &n, Loc loc);
  Operand subscript(const ast::Subscript &n, Loc loc);
  Operand tuple_item(const Operand &tuple, const ast::Subscript &n, Loc loc);
  Operand comparison(const ast::CompareExpr &n, Loc loc);
  Operand boolean(const ast::BoolExpr &n, Loc loc);
  Operand ternary(const ast::Ternary &n, Loc loc);
  Operand binary_expr(const ast::BinaryExpr &n, Loc loc);
  Operand combine(ast::Operator op, const Operand &a, const Operand &b, Loc loc);
  void check_under(const Expr &cond, bool holds, const BlockBuilder &checks, Loc loc);
  Operand unary_expr(const ast::UnaryExpr &n, Loc loc);
  std::optional<bool> static_compare(ast::CompareOp op, const Operand &a, const Operand &b);
  std::vector<Expr> indices(const Operand &tensor, const ast::Subscript &n, Loc loc);
  int64_t constant_int(const ast::ExprPtr &e, std::string_view what, Code code,
                       std::string_view help = constant_help);
  std::string buffer_help(const ast::ExprPtr &e, const Operand &tuple) const;
  std::string item_help(const ast::ExprPtr &e, const Operand &tuple) const;
  bool divides(const ast::Expr &e, int chain = 0) const;
  /// What to do about a float in the place of an integer, `help` unless `/` made it.
  std::string_view float_help(const Operand &o, const ast::Expr &e, std::string_view help) const;
  /// A bound as i64.
  Expr index_from(const ast::ExprPtr &e, std::string_view what);

  // lower_call.cpp: calls by name
  Operand call_expr(const ast::CallExpr &n, Loc loc);
  void warn_callee(const ast::ExprPtr &callee);
  /// W101, once per name, when a captured object hides a word of the language.
  void warn_shadow(const std::string &id, const Captured &c, Loc loc);
  Operand call_word(const std::string &word, const ast::CallExpr &n, Loc loc);
  Operand smallest(bool is_min, std::vector<Operand> args, Loc loc);
  Operand cast_call(const std::string &word, Operand arg, Loc loc);
  Operand intrinsic_call(const std::string &word, std::vector<Operand> args, Loc loc);
  Operand rounded_to_int(Fn fn, Operand arg, Loc loc);
  Operand select_call(std::vector<Operand> args, Loc loc);

  // lower_debug.cpp: what debug=True checks of values
  void check_value(const Expr &ok, Code code, Loc loc, SiteMessage message);
  void check_operand(const Operand &o, DType to);
  void check_conversion(const Operand &o, DType to, bool rounds = false);
  void check_int64(const Operand &o);
  void check_divisor(const Operand &b, bool whole, Loc loc);
  void check_exponent(const Operand &n, Loc loc);
  void check_arithmetic(ast::Operator op, const Operand &a, const Operand &b, const Operand &result, Loc loc);
  void check_opposite(std::string_view what, const Operand &a, Loc loc);

  // lower_inline.cpp: the order in which operands are evaluated
  struct Place {
    size_t item;      ///< of the block under construction
    uint32_t writes;  ///< calls before it of helpers that write tensors
  };
  Place here() const { return {builder_->size(), root_->writing_calls_}; }
  void evaluate_before(const Place &place, Operand &earlier);
  void evaluate_before(const Place &place, std::vector<Operand> &earlier);
  void evaluate_before(const Place &place, Expr &earlier);
  std::vector<Operand> operands(const std::vector<ast::ExprPtr> &list, bool numbers = true);

  // and calls of Python functions
  Operand inline_call(const Captured &c, const ast::CallExpr &n, Loc loc);
  void refuse_recursion(const Captured &c, Loc loc) const;
  std::vector<Operand> arguments_of(const Captured &c, const ast::Function &f, const ast::CallExpr &n,
                                    Loc loc, const Captures &defaults,
                                    std::vector<const ast::ExprPtr *> &sources);
  void bind_argument(const ast::Parameter &p, Operand arg);
  Operand inlined_result(Lowering &callee, const std::string &name, Loc loc);
  void note_callees(const Captures &captures);
  void return_scalar(const ast::ReturnStmt &s);
  Operand apart(const ast::ExprPtr &e, BlockBuilder &builder);
  Expr decide_lazily(bool is_and, const Expr &so_far, BlockBuilder &&more, const Expr &value, Loc loc);

  // lower_declare.cpp: buffers
  struct Declared {
    std::vector<Expr> extents;
    Loc shape_loc;
    DType dtype = DType::f32;
    Fill fill = Fill::zero;
    std::optional<Operand> value;  ///< of every element
  };
  void declare(const ast::Assign &s, std::string_view word, Loc loc);
  Declared declared(const ast::CallExpr &call, std::string_view word, Loc loc, bool is_output);
  void warn_default_dtype(Loc loc);
  Buf declare_output(const std::string &name, const Declared &d, Sym sym, Loc loc);
  Buf declare_temporary(const Declared &d, Sym sym, Loc loc);
  void fill_elements(const Buf &buf, const Operand &value, Loc loc);
  DType dtype_argument(const ast::ExprPtr &e);
  std::vector<Expr> shape_argument(const ast::ExprPtr &e, std::string_view help = integer_help);

  Binding &bind(const std::string &name, Binding b) { return env_[name] = std::move(b); }
  Buf cell_for(const std::string &name, ScalarType type);
  std::vector<Buf> cells_of(const std::vector<const ast::Block *> &owners) const;
  Operand read(const Binding &b, const std::string &name, Loc loc);
  bool is_local(const std::string &name) const;
  Expr store_value(const Operand &value, DType to);

  const ast::Function &f_;
  const FrontendInput &in_;
  Sink *sink_;
  Names names_;
  Rules rules_;
  Func func_;
  Env env_;
  std::vector<Cell> cells_;
  BlockBuilder *builder_ = nullptr;
  std::vector<Loop *> loops_;
  bool live_ = true;                ///< false behind a jump
  std::set<std::string> expanded_;  ///< variables of const_range, and what was computed from them
  int64_t copies_ = 1;              ///< of the statement being lowered, by the const_ranges around it
  struct Alias {
    Buf own, used;
  };
  std::map<std::string, Alias>
      aliases_;  ///< arguments and outputs that are the same view as an argument, which is used
  std::set<std::string> written_;
  std::map<std::string, Loc> outputs_;  ///< declared outputs by name
  /// Root: captured arrays by number. One that is the same view as an argument before it is that argument.
  std::vector<Buf> arrays_;
  std::set<std::string> shadow_warned_;

  // inlining: the kernel's own lowering is the root, each call has one of its own
  Lowering *root_ = this, *caller_ = nullptr;
  uint32_t number_ = 0;                          ///< of the function being lowered; 0 is the kernel
  std::map<int64_t, const Captures *> callees_;  ///< root: what each function captures
  uint32_t writing_calls_ = 0;                   ///< root: calls so far of helpers that write tensors
  std::string_view unevaluated_;                 ///< root: within what is not always evaluated
  uint32_t inlined_ = 0;                         ///< root: calls that were inlined so far
  int64_t stack_bytes_ = 0;                      ///< root: of the temporaries that lie on the stack
  size_t inlined_text_ = 0, statements_ = 0;     ///< root: characters that were read, copies that were made
  /// Chosen: what a text of the greatest length holds.
  static constexpr size_t most_statements = 50'000;
  bool left_out_ = false;  ///< root: something was not lowered; an error says why
  Operand result_;         ///< what a helper returns
  bool writes_ = false;    ///< a helper: it writes a tensor of its caller
  /// Elements whose subscripts this statement has checked ahead.
  std::unordered_map<const ExprNode *, Expr> evaluated_;
};

}  // namespace kw
