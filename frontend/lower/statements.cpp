// Assignments to names, elements and tuples, asserts, results, and the recovery after an error.
#include "frontend/lower/statements.h"

#include <algorithm>

#include "frontend/lower/branches.h"
#include "frontend/lower/debug_checks.h"
#include "frontend/lower/declarations.h"
#include "frontend/lower/evaluation.h"
#include "frontend/lower/expansions.h"
#include "frontend/lower/expressions.h"
#include "frontend/lower/inlining.h"
#include "frontend/lower/loops.h"
#include "frontend/lower/merges.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

/// Lowers a block. An error in a statement is reported and the next statement is lowered. Lowering ends only
/// if the sink is full or the kernel is too long.
void StatementLowering::statements(const ast::Block &b) {
  for (const ast::Stmt &s : b) {
    if (!cx_.live) return;  // statements after a jump are dead
    try {
      count_statement(s);
      // a with statement or a taken branch appends its block to the owners, and counts as top level
      cx_.rules.statement(s, cx_.builder->owners[0] == &cx_.f.body);
      statement(s);
    } catch (const CompileError &error) {
      if (cx_.sink->full() || is_too_long()) throw;
      for (const Diagnostic &d : error.found()) report(d);
      leave_out();
      poison(s);
    }
  }
}

void StatementLowering::count_statement(const ast::Stmt &s) {
  ++cx_.wide.statements;
  if (!is_too_long()) return;
  type_error(Code::E122, s.loc,
             cat("the kernel has more than ", most_statements,
                 " statements, with the copies that const_range and inlined calls make of them"),
             "use range, or split the kernel");
}

/// Binds the names that a faulty statement would have assigned as poisoned, so that one fault gives one
/// message.
void StatementLowering::poison(const ast::Stmt &s) {
  auto mark_name = [&](const std::string &name, Loc loc) {
    auto found = cx_.env.find(name);
    if (found != cx_.env.end() && found->second.kind == Binding::Kind::tensor) return;
    Binding b;
    b.loc = loc;
    bind(name, std::move(b));
    cx_.outputs.erase(name);
  };
  auto mark = [&](const ast::ExprPtr &target) { for_each_name(target, mark_name); };
  if (std::holds_alternative<ast::ReturnStmt>(s.v)) cx_.result = {};
  if (auto *assign = std::get_if<ast::Assign>(&s.v); assign && !ast::as<ast::Subscript>(assign->target))
    mark(assign->target);
  if (auto *aug = std::get_if<ast::AugAssign>(&s.v); aug && !ast::as<ast::Subscript>(aug->target))
    mark(aug->target);
  if (auto *loop = std::get_if<ast::ForStmt>(&s.v)) {
    for (const std::string &name : merges().changed_in(*loop->body)) mark_name(name, s.loc);
    mark(loop->target);
  }
  if (auto *loop = std::get_if<ast::WhileStmt>(&s.v))
    for (const std::string &name : merges().changed_in(*loop->body)) mark_name(name, s.loc);
}

/// Lowers one statement by its kind.
void StatementLowering::statement(const ast::Stmt &s) {
  // the next statement may write the elements whose subscripts were checked, so it reads them again
  cx_.evaluated.clear();
  // the rules have refused the kinds that are missing here
  std::visit(
      Overload{[&](const ast::Assign &n) { assign(n, s.loc); },
               [&](const ast::AugAssign &n) { augmented(n, s.loc); },
               [&](const ast::ForStmt &n) { loops().for_statement(n, s.loc); },
               [&](const ast::WhileStmt &n) { loops().while_statement(n, s.loc); },
               [&](const ast::JumpStmt &n) { loops().jump(n.is_break, s.loc); },
               [&](const ast::WithStmt &n) {
                 scope_arguments(n.context);
                 cx_.builder->owners.push_back(n.body.get());
                 statements(*n.body);
               },
               [&](const ast::AssertStmt &n) { assertion(n, s.loc); },
               [&](const ast::ExprStmt &n) {
                 // a docstring or another bare value does nothing; a call may write tensors
                 if (ast::as<ast::CallExpr>(n.value)) expressions().expression(n.value);
               },
               [&](const ast::IfStmt &n) { branches().if_statement(n, s.loc); },
               [&](const ast::ReturnStmt &n) { cx_.caller ? inlining().return_scalar(n) : return_values(n); },
               [](const auto &) {}},
      s.v);
}

/// Lowers the arguments of a scheduling scope, which have no meaning but must be expressions of the language.
void StatementLowering::scope_arguments(const ast::ExprPtr &context) {
  if (const auto *several = ast::as<ast::Tuple>(context))
    for (const ast::ExprPtr &item : several->items) scope_arguments(item);
  BlockBuilder unused;
  Building inside(cx_.builder, unused);
  Within place(cx_.wide.unevaluated, "the argument of a scope");
  if (const auto *call = ast::as<ast::CallExpr>(context))
    for (const ast::ExprPtr &arg : call->args) expressions().expression(arg);
}

/// Lowers an assert. Only debug=True emits a check, but condition and message are typed in every compilation,
/// so an assert with an error also fails in release.
void StatementLowering::assertion(const ast::AssertStmt &s, Loc loc) {
  BlockBuilder unused;
  bool counts = cx_.in.options.debug && cx_.in.options.asserts;
  Building inside(cx_.builder, counts ? *cx_.builder : unused);
  Within place(cx_.wide.unevaluated, "an assert");
  Expr cond = truth_of(expressions().scalar(s.cond));
  Operand message;
  message.text = "the assertion failed";
  if (s.message) message = expressions().scalar(s.message);
  if (s.message && message.kind != Operand::Kind::text)
    type_error(Code::E202, s.message->loc, cat("the message of an assert is ", describe(message)),
               "write a string");
  if (!counts) return;
  std::vector<Site> &sites = cx_.root->func.sites;
  auto same = [&](const Site &site) { return site.loc == s.cond->loc; };  // it is lowered repeatedly
  auto found = std::find_if(sites.begin(), sites.end(), same);
  auto number = static_cast<uint32_t>(found - sites.begin());
  if (found == sites.end())
    sites.push_back({Code::E305, s.cond->loc, {}, 0, false, false, {message.text, {}, {}, {}}});
  cx_.builder->add(check(cond, number, loc));
}

/// Lowers an assignment, or the declaration of a buffer, which has the same syntax.
void StatementLowering::assign(const ast::Assign &s, Loc loc) {
  // values computed from a const_range variable are constants, but not ones that the user wrote
  if (expansions().mentions_expanded(s.value))
    for_each_name(s.target, [&](const std::string &name, Loc) { cx_.expanded.insert(name); });
  if (std::string word = cx_.rules.declaration(s); !word.empty()) return declarations().declare(s, word, loc);
  refuse_sliced(s.target);
  assign_target(s.target, expressions().expression(s.value), loc);
}

/// Throws E109 for an assignment to a slice, before the value is lowered: the value is often a tensor, which
/// would give a misleading error.
void StatementLowering::refuse_sliced(const ast::ExprPtr &target) {
  if (const auto *tuple = ast::as<ast::Tuple>(target))
    for (const ast::ExprPtr &item : tuple->items) refuse_sliced(item);
  const auto *n = ast::as<ast::Subscript>(target);
  if (!n) return;
  auto slice = std::find_if(n->index.begin(), n->index.end(),
                            [](const ast::ExprPtr &item) { return ast::as<ast::Slice>(item) != nullptr; });
  if (slice == n->index.end()) return;
  Operand base = expressions().expression(n->value);
  if (base.kind == Operand::Kind::tensor) refuse_slice(base.buf->sym->name, (*slice)->loc);
}

/// Assigns a value to a name, an element, or the parts of a tuple.
void StatementLowering::assign_target(const ast::ExprPtr &target, Operand value, Loc loc) {
  if (const auto *n = ast::as<ast::Name>(target))
    return assign_name(n->id, std::move(value), loc, target->loc);
  if (const auto *n = ast::as<ast::Subscript>(target)) return assign_element(*n, target->loc, value, loc);
  const auto *tuple = ast::as<ast::Tuple>(target);
  if (value.kind == Operand::Kind::poisoned) {
    for (const ast::ExprPtr &item : tuple->items) assign_target(item, value, loc);
    return;
  }
  if (value.kind != Operand::Kind::tuple)
    type_error(Code::E206, loc, cat(describe(value), " cannot be unpacked"));
  if (value.items.size() != tuple->items.size())
    type_error(Code::E206, loc,
               cat(counted(value.items.size(), "value"), value.items.size() == 1 ? " is" : " are",
                   " unpacked into ", counted(tuple->items.size(), "name")));
  evaluation().evaluate_items(value);  // before the first name is assigned
  for (size_t i = 0; i < tuple->items.size(); ++i) assign_target(tuple->items[i], value.items[i], loc);
}

/// Binds a name to a value. A name with one assignment, at home in the current block, becomes an immutable
/// local; any other name becomes a cell:
///   t = a[i]; b[i] = t            →    let t = a[i]; b[i] = t
///   s = 0.0; s = s + a[i]         →    s: cell; s = 0.0; s = s + a[i]
void StatementLowering::assign_name(const std::string &name, Operand value, Loc loc, Loc name_loc) {
  if (value.kind == Operand::Kind::poisoned) {
    bind(name, {});
    return;
  }
  if (auto found = cx_.env.find(name); found != cx_.env.end()) {
    if (found->second.kind == Binding::Kind::tensor)
      type_error(Code::E212, name_loc, cat("'", name, "' names a tensor and cannot be rebound"),
                 "use another name, or write its elements");
  }
  if (value.kind == Operand::Kind::tensor)
    type_error(Code::E212, loc, cat("'", name, "' would be a second name of ", describe(value)),
               cat("use '", value.buf->sym->name, "' itself"));
  evaluation().evaluate_items(value);
  if (cx_.in.locals) note_local(name, value, name_loc);
  const LocalInfo &info = cx_.names.locals[name];
  // a jump may let the one assignment in a branch reach the code after the branch
  auto &owners = cx_.builder->owners;
  bool at_home = std::find(owners.begin(), owners.end(), info.home) != owners.end();
  if (info.assignments != 1 || !at_home) {
    bind(name, variable(name, std::move(value), loc, name_loc));
    return;
  }
  Binding b;
  b.loc = name_loc;
  b.kind = Binding::Kind::value;
  b.value = std::move(value);
  // call constants stay expressions, so that extents can use the name
  if (b.value.kind == Operand::Kind::scalar && !is_call_constant(b.value.expr, true)) {
    Sym sym = make_sym(SymKind::local, b.value.expr.dtype(), name, name_loc);
    cx_.builder->add_let(sym, b.value.expr, loc);
    b.value.expr = ref(sym, name_loc);
  }
  bind(name, std::move(b));
}

/// Returns the binding of a name that other assignments may also reach. Numbers, also those in a tuple, have
/// cells.
Binding StatementLowering::variable(const std::string &name, Operand value, Loc loc, Loc name_loc) {
  Binding b;
  b.loc = name_loc;
  if (value.kind == Operand::Kind::tuple) {
    b.kind = Binding::Kind::tuple;
    for (size_t k = 0; k < value.items.size(); ++k)
      b.items.push_back(variable(item_name(name, k), std::move(value.items[k]), loc, name_loc));
    value.items.clear();
  }
  // dtypes and strings exist at compile time only: no cell could hold them
  if (value.kind != Operand::Kind::scalar) {
    if (b.kind != Binding::Kind::tuple) b.kind = Binding::Kind::value;
    b.value = std::move(value);
    return b;
  }
  if (value.truth) refuse_truth_value(value, "kept as a value");
  // a constant from 2^63 on is stored as u64, but a weak cell is an int64
  debug_checks().check_int64(value);
  b.kind = Binding::Kind::cell;
  b.type = value.type();
  b.cell = cell_for(name, b.type);
  if (is_call_constant(value.expr, false)) b.known = value.expr;
  cx_.builder->add(store(b.cell, {}, cast(b.type.dtype, value.expr, loc), loc));
  return b;
}

/// Notes the type of a local. A loop is lowered until its types are stable, so the last note on a place
/// counts.
void StatementLowering::note_local(const std::string &name, const Operand &value, Loc loc) const {
  LocalNote note{name, value.kind == Operand::Kind::tuple ? "tuple" : describe(value), loc};
  for (LocalNote &known : *cx_.in.locals)
    if (known.name == name && known.loc == loc) {
      known = std::move(note);
      return;
    }
  cx_.in.locals->push_back(std::move(note));
}

/// Returns a value as stored, which is its cast to that dtype (language.md 2a, V3).
Expr StatementLowering::store_value(const Operand &value, DType to) {
  if (value.kind != Operand::Kind::scalar || value.truth) adapt(value, to);
  debug_checks().check_conversion(value, to);
  return cast(to, value.expr, value.loc);
}

/// Returns the tensor that a store names; null after a fault that was already reported.
Buf StatementLowering::written_tensor(const ast::Subscript &target, Loc target_loc) {
  Operand base = expressions().expression(target.value);
  if (base.kind == Operand::Kind::poisoned) return nullptr;
  if (base.kind != Operand::Kind::tensor)
    type_error(Code::E202, target.value->loc, cat(describe(base), " has no elements that could be assigned"),
               expressions().buffer_help(target.value, base));
  const std::string &name = base.buf->sym->name;
  if (!base.captured.empty())
    type_error(Code::E117, target_loc, cat("the captured array '", base.captured, "' is written"),
               "make it a parameter: captured arrays are read-only");
  // a helper may write an input of the kernel, so the root's outputs and results decide
  bool is_input = base.buf->space == Space::param && !cx_.root->outputs.count(name);
  if (is_input && !StatementLowering(*cx_.root).returns(base.buf))
    type_error(Code::E207, target_loc, cat("'", name, "' is an input that is written but not returned"),
               cat("return it: `return ", name, "`, or write to an output_tensor"));
  cx_.root->written.insert(name);
  // only a parameter's tensor belongs to the caller; a helper's own temporaries do not count
  cx_.writes |= cx_.caller && ast::as<ast::Name>(target.value) &&
                cx_.rules.is_parameter(ast::as<ast::Name>(target.value)->id);
  return base.buf;
}

/// Stores to an element. The value is evaluated before the subscripts, as in Python.
void StatementLowering::assign_element(const ast::Subscript &target, Loc target_loc, Operand value, Loc loc) {
  Buf buf = written_tensor(target, target_loc);
  if (!buf || value.kind == Operand::Kind::poisoned) return leave_out();
  Operand base;
  base.kind = Operand::Kind::tensor;
  base.buf = buf;
  Place place = here();
  std::vector<Expr> index = expressions().indices(base, target, target_loc);
  evaluation().evaluate_before(place, value);
  cx_.builder->add(store(buf, std::move(index), store_value(value, buf->dtype), loc));
}

/// Lowers `x += v` to `x = x + v`. The subscripts of an element are evaluated once, before the value:
///   a[f(i)] += g(j)    →    k = f(i); old = a[k]; v = g(j); a[k] = old + v
void StatementLowering::augmented(const ast::AugAssign &s, Loc loc) {
  if (const auto *n = ast::as<ast::Name>(s.target); n && expansions().mentions_expanded(s.value))
    cx_.expanded.insert(n->id);
  Operand old = expressions().expression(s.target);
  // the subscripts of the load serve the store as well
  const Load *element = ast::as<ast::Subscript>(s.target) && old.expr ? as<Load>(old.expr) : nullptr;
  std::vector<Expr> index = element ? element->index : std::vector<Expr>{};
  Place place = here();
  Operand value = expressions().expression(s.value);
  if (old.kind == Operand::Kind::poisoned || value.kind == Operand::Kind::poisoned) return leave_out();
  evaluation().evaluate_before(place, old);
  if (!element) return assign_target(s.target, expressions().combine(s.op, old, value, loc), loc);
  for (size_t d = index.size(); d-- > 0;) evaluation().evaluate_before(place, index[d]);
  Operand result = expressions().combine(s.op, old, value, loc);
  Buf buf = written_tensor(*ast::as<ast::Subscript>(s.target), s.target->loc);
  cx_.builder->add(store(buf, std::move(index), store_value(result, buf->dtype), loc));
}

/// Records the results of the kernel: distinct inputs and outputs, never temporaries or scalars.
void StatementLowering::return_values(const ast::ReturnStmt &s) {
  std::vector<const ast::ExprPtr *> items;
  if (const auto *tuple = ast::as<ast::Tuple>(s.value)) {
    for (const ast::ExprPtr &item : tuple->items) items.push_back(&item);
    cx_.func.tuple_of_one = items.size() == 1;
  } else
    items.push_back(&s.value);
  for (const ast::ExprPtr *item : items) {
    Operand o = expressions().expression(*item);
    if (o.kind == Operand::Kind::poisoned) continue;
    if (o.kind == Operand::Kind::scalar) refuse_result("scalars", (*item)->loc);
    if (o.kind != Operand::Kind::tensor) refuse_result(describe(o), (*item)->loc);
    const auto *tensor = ast::as<ast::Name>(*item);
    // a result is the parameter that the user named, even if the body uses another buffer for it
    if (auto alias = tensor ? cx_.aliases.find(tensor->id) : cx_.aliases.end(); alias != cx_.aliases.end())
      o.buf = alias->second.own;
    const std::string &name = o.buf->sym->name;
    if (!o.captured.empty())
      type_error(Code::E209, (*item)->loc,
                 cat("'", o.captured, "' is a captured array and cannot be returned"),
                 "make it a parameter, or copy its elements to an output");
    if (o.buf->space != Space::param)
      type_error(Code::E209, (*item)->loc, cat("'", name, "' is a temporary and cannot be returned"),
                 "return an input tensor or a tensor allocated by output_tensor");
    if (std::find(cx_.func.results.begin(), cx_.func.results.end(), o.buf) != cx_.func.results.end())
      type_error(Code::E209, (*item)->loc, cat("'", name, "' is returned twice"));
    cx_.func.results.push_back(o.buf);
  }
}

/// Returns whether the kernel returns an input, under any of its names.
bool StatementLowering::returns(const Buf &input) const {
  auto is_returned = [&](const std::string &name) { return cx_.names.returned.count(name) > 0; };
  return is_returned(input->sym->name) ||
         std::any_of(cx_.aliases.begin(), cx_.aliases.end(), [&](const auto &alias) {
           return alias.second.used == input && is_returned(alias.first);
         });
}

}  // namespace kw
