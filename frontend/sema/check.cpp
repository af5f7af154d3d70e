// One walk that applies the rules to each statement and node, and judges by form where lowering judges by
// type.
#include "frontend/sema/check.h"

#include <algorithm>
#include <unordered_set>

#include "frontend/parser.h"
#include "frontend/sema/rules.h"
#include "ir/match.h"

namespace kw {

using namespace ast;

namespace {

/// Limits how far `varies` and `form` follow names through assignments, also in cycles: x = y; y = x.
constexpr int max_chain = 16;  // locals assigned from locals

/// The form of an expression, the same for every type of the arguments; `unknown` if the types decide it.
enum class Form : uint8_t { unknown, scalar, tuple, dtype, text, tensor };

/// Walks the whole kernel once and collects the errors. It must report nothing that lowering would accept for
/// some types, so it stays silent where types or values may decide.
class Checker {
 public:
  Checker(const Function &f, const Captures &captures, Sink &sink)
      : f_(f), names_(resolve_names(f)), rules_(f, names_, captures), sink_(sink) {}

  void run() {
    rules_.parameters(sink_);
    block(f_.body, true);
    rules_.throw_if_refused();
    rules_.missing_return(sink_);
  }

 private:
  /// Runs a check and records its errors, so that the walk can continue. Returns whether there were none;
  /// rethrows if the sink is full.
  template <class Check>
  bool sound(const Check &check) {
    try {
      check();
      return true;
    } catch (const CompileError &error) {
      if (sink_.full()) throw;
      for (const Diagnostic &d : error.found()) sink_.add(d);
      return false;
    }
  }

  void block(const Block &b, bool top_level) {
    for (const ast::Stmt &s : b) {
      statement(s, top_level);
      if (std::holds_alternative<JumpStmt>(s.v)) return;  // statements after a jump are dead
    }
  }
  /// Checks the head and then the parts below it, unless an error of the head makes the parts meaningless.
  void statement(const ast::Stmt &s, bool top_level);
  void assign(const Assign &s);
  void loop(const ForStmt &s);
  void branches(const IfStmt &s);
  /// Skips a block that may be dead. Its returns count, or E108 would ask for one in vain.
  void pass_over(const Block &b);
  void returned(const ExprPtr &item);
  void target(const ExprPtr &e);
  void expression(const ExprPtr &e);
  /// Checks the parts of a node that passed its own rules, except those that may be dead.
  void operands(const ExprPtr &e);
  void subscript(const Subscript &n);
  void all(const std::vector<ExprPtr> &list) {
    for (const ExprPtr &item : list) expression(item);
  }

  Form form(const ast::Expr &e, int chain = 0) const;
  Form form_of_name(const std::string &id, int chain) const;
  bool varies(const ast::Expr &e, int chain = 0) const;
  bool name_varies(const std::string &id, int chain) const;
  bool all_vary(const std::vector<ExprPtr> &list, int chain) const {
    return std::all_of(list.begin(), list.end(), [&](const ExprPtr &e) { return varies(*e, chain); });
  }

  const Function &f_;
  Names names_;
  Rules rules_;
  Sink &sink_;
  std::unordered_set<const ast::Expr *> refused_;  ///< expressions with an error; their form is unknown
};

void Checker::statement(const ast::Stmt &s, bool top_level) {
  bool good = sound([&] { rules_.statement(s, top_level); });
  std::visit(Overload{[&](const Assign &n) {
                        if (good) assign(n);
                      },
                      [&](const AugAssign &n) {
                        if (good) target(n.target), expression(n.value);
                      },
                      [&](const ForStmt &n) {
                        // the body is checked even if the head has an error
                        if (good) loop(n);
                        block(*n.body, false);
                      },
                      [&](const WhileStmt &n) {
                        expression(n.cond);
                        // any other known condition may be false, and then the body is dead
                        const Boolean *literal = as<Boolean>(n.cond);
                        if (varies(*n.cond) || (literal && literal->value))
                          block(*n.body, false);
                        else
                          pass_over(*n.body);
                      },
                      [&](const IfStmt &n) { branches(n); },
                      [&](const WithStmt &n) {
                        // the calls themselves were checked with the head
                        if (const CallExpr *scope = as<CallExpr>(n.context)) all(scope->args);
                        if (const Tuple *several = as<Tuple>(n.context))
                          for (const ExprPtr &item : several->items)
                            if (const CallExpr *scope = as<CallExpr>(item)) all(scope->args);
                        block(*n.body, top_level);
                      },
                      [&](const ReturnStmt &n) {
                        if (!good) return;
                        if (const Tuple *list = as<Tuple>(n.value))
                          for (const ExprPtr &item : list->items) returned(item);
                        else
                          returned(n.value);
                      },
                      [&](const AssertStmt &n) { expression(n.cond), expression(n.message); },
                      [&](const ExprStmt &n) {
                        // docstrings need no check, and other expressions are refused with the head
                        const CallExpr *call = as<CallExpr>(n.value);
                        if (call && rules_.function_of(call->callee)) expression(n.value);
                      },
                      [](const auto &) {}},
             s.v);
}

/// Checks an assignment. A declaration is not a call in an expression, so its shape, value and dtype are
/// checked one by one.
void Checker::assign(const Assign &s) {
  if (rules_.declaration(s).empty()) {
    expression(s.value);
    return target(s.target);
  }
  BufferArguments given = buffer_arguments(*as<CallExpr>(s.value), rules_.declaration(s), s.value->loc);
  expression(*given.shape);
  if (given.value) expression(*given.value);
  const Name *type = given.dtype ? as<Name>(*given.dtype) : nullptr;
  // np.zeros(n, float) is sound: constructors take Python's types as NumPy does
  bool is_python =
      type && constructor_of(rules_.declaration(s)) && (type->id == "float" || type->id == "int");
  if (given.dtype && !is_python) expression(*given.dtype);  // the scope is a hint that nothing reads
}

/// Checks that steps and the bounds of const_range are compile-time constants.
void Checker::loop(const ForStmt &s) {
  const CallExpr &call = *as<CallExpr>(s.iterable);
  all(call.args);
  // const_range(start, stop) is copied once per value, so the number of copies must be known
  bool expanded = rules_.callee_word(call.callee) == "const_range";
  for (size_t i = 0; expanded && i < std::min<size_t>(call.args.size(), 2); ++i)
    sound([&] {
      if (varies(*call.args[i])) refuse_variable("the bound of const_range", Code::E116, call.args[i]->loc);
    });
  if (call.args.size() != 3) return;
  const ExprPtr &step = call.args[2];
  sound([&] {
    const Integer *digits = as<Integer>(step);
    if (digits && digits->digits.find_first_not_of("0_") == std::string::npos) refuse_zero_step(step->loc);
    // a step of the wrong kind is refused here too: it is not a constant integer
    bool is_variable = as<Real>(step) || as<Text>(step) || as<Tuple>(step) || varies(*step);
    bool counts = !expanded && varies(*step);
    if (is_variable)
      refuse_variable("the step of a loop", Code::E116, step->loc, counts ? step_help : constant_help);
  });
}

/// Checks the branches of a condition, unless the condition may be decided at compile time.
void Checker::branches(const IfStmt &s) {
  expression(s.cond);
  // any other condition may be constant in some specialization, where lowering never reaches one branch
  bool live = varies(*s.cond);
  for (const auto &branch : {s.yes, s.no}) {
    if (!branch) continue;
    if (live)
      block(*branch, false);
    else
      pass_over(*branch);
  }
}

void Checker::pass_over(const Block &b) {
  for (const ast::Stmt &s : b)
    std::visit(Overload{[&](const ReturnStmt &) { rules_.pass_over_return(); },
                        [&](const IfStmt &n) {
                          pass_over(*n.yes);
                          if (n.no) pass_over(*n.no);
                        },
                        [&](const WithStmt &n) { pass_over(*n.body); }, [](const auto &) {}},
               s.v);
}

/// Reports E115 for a result that is not a tensor, whatever the types are.
void Checker::returned(const ExprPtr &item) {
  expression(item);
  sound([&] {
    switch (form(*item)) {
      case Form::scalar: refuse_result("scalars", item->loc);
      case Form::tuple: refuse_result("a tuple", item->loc);
      case Form::dtype: refuse_result("a dtype", item->loc);
      case Form::text: refuse_result("a string", item->loc);
      case Form::tensor:
      case Form::unknown: break;
    }
  });
}

/// Checks the subscripts in a target; names were checked with the statement's head.
void Checker::target(const ExprPtr &e) {
  if (const Tuple *tuple = as<Tuple>(e))
    for (const ExprPtr &item : tuple->items) target(item);
  else if (!as<Name>(e))
    expression(e);
}

/// Checks a node, then its parts. A node with an error is remembered, so that it causes no other error.
void Checker::expression(const ExprPtr &e) {
  if (!e) return;
  if (sound([&] { rules_.expression(e); }))
    operands(e);
  else
    refused_.insert(e.get());
}

void Checker::operands(const ExprPtr &e) {
  std::visit(Overload{[&](const Attribute &n) {
                        if (!rules_.module_of(n)) expression(n.value);
                      },
                      [&](const Subscript &n) { subscript(n); },
                      [&](const CallExpr &n) {
                        all(n.args);
                        for (const Keyword &k : n.keywords) expression(k.value);
                      },
                      [&](const UnaryExpr &n) { expression(n.a); },
                      [&](const BinaryExpr &n) { expression(n.a), expression(n.b); },
                      [&](const CompareExpr &n) { all(n.items); },
                      [&](const BoolExpr &n) {
                        for (const ExprPtr &item : n.items) {
                          expression(item);
                          if (!varies(*item)) return;  // the item may decide the result at compile time
                        }
                      },
                      [&](const Ternary &n) {
                        expression(n.cond);
                        // one of the two sides may be dead if the condition is known
                        if (varies(*n.cond)) expression(n.yes), expression(n.no);
                      },
                      [&](const Tuple &n) { all(n.items); }, [](const auto &) {}},
             e->v);
}

/// Checks a subscript, with E109 for a slice of a parameter or of a tensor. Any other slice may be one of a
/// tuple, so only its bounds are checked.
void Checker::subscript(const Subscript &n) {
  expression(n.value);
  for (const ExprPtr &item : n.index) {
    const Slice *slice = as<Slice>(item);
    if (!slice) {
      expression(item);
      continue;
    }
    // a call that makes a buffer is refused above, so an operand with the form of a tensor here is a name
    const Name *name = as<Name>(n.value);
    bool is_parameter = name && rules_.is_parameter(name->id) && !names_.locals[name->id].assignments;
    if (is_parameter || form(*n.value) == Form::tensor)
      sound([&] { refuse_slice(name->id, item->loc); });
    else
      expression(slice->lower), expression(slice->upper), expression(slice->step);
  }
}

/// Returns the form that all values assigned to the name share. Parameters are unknown: a call may pass a
/// tensor or a scalar.
Form Checker::form_of_name(const std::string &id, int chain) const {
  auto found = names_.locals.find(id);
  if (found == names_.locals.end() || rules_.is_parameter(id) || chain > max_chain) return Form::unknown;
  const LocalInfo &info = found->second;
  if (info.loop_variable) return info.assignments || info.point ? Form::unknown : Form::scalar;
  std::optional<Form> common;
  for (const ast::Expr *value : info.values) {
    Form one = value ? form(*value, chain + 1) : Form::unknown;
    if (common && *common != one) return Form::unknown;
    common = one;
  }
  return common.value_or(Form::unknown);
}

/// Returns the form of an expression. Signs, comparisons, `and`, `or` and calls count as scalars, because
/// they are errors on operands of another form.
///   x.shape → tuple, x.dtype → dtype, x.shape[0] → scalar, allocate(…) → tensor
Form Checker::form(const ast::Expr &e, int chain) const {
  if (refused_.count(&e)) return Form::unknown;
  return std::visit(
      Overload{[](const Integer &) { return Form::scalar; }, [](const Real &) { return Form::scalar; },
               [](const Boolean &) { return Form::scalar; }, [](const UnaryExpr &) { return Form::scalar; },
               [](const CompareExpr &) { return Form::scalar; },
               [](const BoolExpr &) { return Form::scalar; }, [](const Text &) { return Form::text; },
               [](const Tuple &) { return Form::tuple; },
               [&](const Name &n) { return form_of_name(n.id, chain); },
               [&](const Attribute &n) {
                 if (rules_.module_of(n)) return Form::unknown;
                 return n.name == "shape"   ? Form::tuple
                        : n.name == "dtype" ? Form::dtype
                        : n.name == "ndim"  ? Form::scalar
                                            : Form::unknown;
               },
               [&](const Subscript &n) {
                 bool sliced = std::any_of(n.index.begin(), n.index.end(),
                                           [](const ExprPtr &item) { return as<Slice>(item) != nullptr; });
                 const Name *base = as<Name>(n.value);
                 bool element = (base && rules_.is_parameter(base->id)) ||
                                (as<Attribute>(n.value) && form(*n.value, chain) == Form::tuple) ||
                                form(*n.value, chain) == Form::tensor;
                 return element && !sliced ? Form::scalar : Form::unknown;
               },
               [&](const CallExpr &n) { return rules_.buffer_word(n).empty() ? Form::scalar : Form::tensor; },
               [&](const BinaryExpr &n) {
                 bool scalars = form(*n.a, chain) == Form::scalar && form(*n.b, chain) == Form::scalar;
                 return scalars ? Form::scalar : Form::unknown;
               },
               [](const auto &) { return Form::unknown; }},
      e.v);
}

/// Returns whether every value that is assigned to the name varies; parameters do. A loop variable varies
/// unless const_range expands its loop. The point of a grid is a tuple, whose parts are not followed.
bool Checker::name_varies(const std::string &id, int chain) const {
  auto found = names_.locals.find(id);
  if (found == names_.locals.end() || chain > max_chain) return false;
  const LocalInfo &info = found->second;
  if (info.assignments == 0)
    return (info.loop_variable && !info.point && !info.constant) || rules_.is_parameter(id);
  return !info.loop_variable && std::all_of(info.values.begin(), info.values.end(),
                                            [&](const ast::Expr *v) { return v && varies(*v, chain + 1); });
}

/// Returns whether no compilation can know the value, whatever the types, ranks and captured values are.
bool Checker::varies(const ast::Expr &e, int chain) const {
  return std::visit(
      Overload{[&](const Name &n) { return name_varies(n.id, chain); },
               // an element of a tensor varies, and so does an extent of a parameter: no specialization knows
               // it
               [&](const Subscript &n) {
                 const Attribute *shape = as<Attribute>(n.value);
                 if (shape && shape->name != "shape") return false;
                 const Name *base = as<Name>(shape ? shape->value : n.value);
                 return (base && name_varies(base->id, chain)) || form(*n.value) == Form::tensor;
               },
               // a Python function that the kernel calls may return a constant whatever its arguments are
               [&](const CallExpr &n) {
                 return !n.args.empty() && all_vary(n.args, chain) && !rules_.function_of(n.callee);
               },
               [&](const UnaryExpr &n) { return varies(*n.a, chain); },
               [&](const BinaryExpr &n) {
                 bool a = varies(*n.a, chain), b = varies(*n.b, chain);
                 // a constant operand may decide the result: x * 0, x % 1, x ** 0
                 bool sum = n.op == Operator::add || n.op == Operator::sub;
                 return (a && b) || (sum && (a || b));
               },
               // one comparison of two constants may decide the whole chain
               [&](const CompareExpr &n) {
                 for (size_t k = 0; k + 1 < n.items.size(); ++k)
                   if (!varies(*n.items[k], chain) && !varies(*n.items[k + 1], chain)) return false;
                 return true;
               },
               [&](const BoolExpr &n) { return all_vary(n.items, chain); },
               [&](const Ternary &n) {
                 return varies(*n.cond, chain) && varies(*n.yes, chain) && varies(*n.no, chain);
               },
               [](const auto &) { return false; }},
      e.v);
}

}  // namespace

void check_source(const SourceMap &sources, uint32_t source, const Captures &captures, Sink &sink) {
  Function f = parse_function(tokenize(sources, source), sink);
  // the tree lacks the statements with errors, so their names would seem undefined below
  sink.throw_if_errors();
  Checker(f, captures, sink).run();
}

}  // namespace kw
