// Lowering of the function: parameters, statements, declarations and results.
#include "frontend/lower/lower.h"

#include <algorithm>

#include "frontend/ir_mode.h"
#include "frontend/lower/fix_bounds.h"
#include "frontend/lower/lowering.h"
#include "frontend/lower/sink_declarations.h"
#include "frontend/lower/sum_order.h"
#include "frontend/parser.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/text.h"

namespace kw {

Stmt BlockBuilder::finish(const std::vector<Buf> &cells) const {
  Stmt tail;
  std::vector<Stmt> run;  // reversed
  auto flush = [&] {
    std::reverse(run.begin(), run.end());
    if (tail) run.push_back(tail);
    tail = run.empty() ? Stmt{} : seq(std::move(run));
    run.clear();
  };
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    if (item->stmt) {
      run.push_back(item->stmt);
      continue;
    }
    flush();
    if (!tail) tail = seq({});
    tail = item->sym ? let(item->sym, item->value, tail, item->loc)
                     : alloc(item->buf, item->fill, tail, item->loc);
  }
  flush();
  if (!tail) tail = seq({});
  for (auto cell = cells.rbegin(); cell != cells.rend(); ++cell)
    tail = alloc(*cell, Fill::none, tail, (*cell)->sym->loc);
  return tail;
}

Lowering::Lowering(const ast::Function &f, const FrontendInput &input, Sink &sink)
    : f_(f), in_(input), sink_(&sink), names_(resolve_names(f)), rules_(f, names_, input.captures) {}

Func Lowering::run() {
  func_.name = f_.name;
  func_.fp = in_.options.fp;
  BlockBuilder body;
  body.owners.push_back(&f_.body);
  builder_ = &body;
  parameters();
  note_callees(in_.captures);
  statements(f_.body);
  func_.body = body.finish(cells_of(body.owners));
  rules_.throw_if_refused();
  rules_.missing_return(*sink_);
  finish_results();
  sink_->throw_if_errors();
  ensure(!left_out_, cat("a statement of '", f_.name, "' was left out without an error"));
  if (in_.options.body == Body::overlapping) func_.overlap = Overlap::possible;
  Func out = fix_bounds(mark_orders(sink_declarations(func_)));
  out.body = number_loops(out.body);
  return out;
}

void Lowering::parameters() {
  rules_.parameters(*sink_);
  auto refuse_count = [&] {
    type_error(Code::E104, f_.loc,
               cat("kernel '", f_.name, "' takes ", counted(f_.params.size(), "argument"), ", ",
                   in_.signature.args.size(), " given"));
  };
  if (f_.params.size() > in_.signature.args.size()) refuse_count();
  std::vector<Sym> strides;
  for (size_t i = 0; i < f_.params.size(); ++i) parameter(i, strides);
  captured_arrays(in_.captures, strides);
  if (f_.params.size() + arrays_.size() != in_.signature.args.size()) refuse_count();
  func_.extents.insert(func_.extents.end(), strides.begin(), strides.end());
}

/// What an argument is read through: the first one that is the same view.
Buf Lowering::argument_buffer(size_t number) const {
  size_t shown = f_.params.size();
  return number < shown ? env_.at(f_.params[number].name).value.buf : arrays_.at(number - shown);
}

/// The arguments behind the parameters: arrays that the kernel, or a function that it calls, captures.
void Lowering::captured_arrays(const Captures &captures, std::vector<Sym> &strides) {
  for (const auto &[name, c] : captures) {
    if (c.kind == Captured::Kind::array && static_cast<size_t>(*c.integer) == arrays_.size()) {
      size_t number = f_.params.size() + arrays_.size();
      ensure(number < in_.signature.args.size(), "a captured array without an argument");
      const ArgSpec &spec = in_.signature.args[number];
      require_available(spec.dtype, f_.loc);
      ast::Parameter parameter;
      parameter.name = c.text;
      parameter.loc = f_.loc;
      Param param;
      param.buf = parameter_buffer(parameter, spec, strides);
      func_.params.push_back(param);
      arrays_.push_back(spec.alias < number ? argument_buffer(spec.alias) : param.buf);
    }
    captured_arrays(c.attributes, strides);
  }
}

/// The buffer of a tensor and the extents and strides that describe it.
Buf Lowering::parameter_buffer(const ast::Parameter &p, const ArgSpec &spec, std::vector<Sym> &strides) {
  std::vector<Expr> extents, stride_exprs;
  for (size_t d = 0; d < spec.rank; ++d) {
    func_.extents.push_back(make_sym(SymKind::extent, DType::i64, cat(p.name, "_", d), p.loc));
    extents.push_back(ref(func_.extents.back(), p.loc));
  }
  for (size_t d = 0; d < spec.rank && spec.stride_class != StrideClass::contiguous; ++d) {
    if (spec.stride_class == StrideClass::inner_unit && d + 1 == spec.rank) {
      stride_exprs.push_back(const_int(1, p.loc));
      continue;
    }
    strides.push_back(make_sym(SymKind::stride, DType::i64, cat(p.name, "_s", d), p.loc));
    stride_exprs.push_back(ref(strides.back(), p.loc));
  }
  return make_buf(make_sym(SymKind::buffer, spec.dtype, p.name, p.loc), std::move(extents), Space::param,
                  std::move(stride_exprs));
}

/// A number that the kernel assigns anew is a local that the call assigned first.
Binding Lowering::assigned_parameter(const ast::Parameter &p, const Operand &value) {
  LocalInfo &info = names_.locals[p.name];
  info.home = &f_.body;
  ++info.assignments;  // the call's own
  Binding b;
  b.loc = p.loc;
  b.kind = Binding::Kind::cell;
  b.type = value.type();
  b.cell = cell_for(p.name, b.type);
  b.known = value.expr;
  builder_->add(store(b.cell, {}, value.expr, p.loc));
  return b;
}

void Lowering::parameter(size_t number, std::vector<Sym> &strides) {
  const ast::Parameter &p = f_.params[number];
  const ArgSpec &spec = in_.signature.args[number];
  Binding b;
  b.loc = p.loc;
  Param param;
  if (spec.kind == ArgKind::unused) {
    b.kind = Binding::Kind::value;
    b.value.kind = Operand::Kind::none;
    b.value.text = p.name;
    bind(p.name, std::move(b));
    return;
  }
  require_available(spec.dtype, p.loc);
  if (spec.kind != ArgKind::tensor) {
    param.sym = make_sym(SymKind::param, spec.dtype, p.name, p.loc);
    param.weak = spec.kind == ArgKind::weak_scalar;
    b.kind = Binding::Kind::value;
    b.value = scalar_operand(ref(param.sym, p.loc), param.weak, p.loc);
    auto local = names_.locals.find(p.name);
    if (local != names_.locals.end() && local->second.assignments > 0) b = assigned_parameter(p, b.value);
  } else {
    param.buf = parameter_buffer(p, spec, strides);
    b.kind = Binding::Kind::tensor;
    b.value.kind = Operand::Kind::tensor;
    b.value.buf = param.buf;
    if (spec.alias < number) {
      b.value.buf = argument_buffer(spec.alias);
      aliases_[p.name] = {param.buf, b.value.buf};
    }
  }
  func_.params.push_back(std::move(param));
  bind(p.name, std::move(b));
}

void Lowering::statements(const ast::Block &b) {
  for (const ast::Stmt &s : b) {
    if (!live_) return;  // what follows a jump is dead
    try {
      count_statement(s);
      rules_.statement(s, builder_->owners[0] == &f_.body);
      statement(s);
    } catch (const CompileError &error) {
      if (sink_->full() || is_too_long()) throw;
      for (const Diagnostic &d : error.found()) report(d);
      leave_out();
      poison(s);
    }
  }
}

void Lowering::count_statement(const ast::Stmt &s) {
  ++root_->statements_;
  if (!is_too_long()) return;
  type_error(Code::E122, s.loc,
             cat("the kernel has more than ", most_statements,
                 " statements, with the copies that const_range and inlined calls make of them"),
             "use range, or split the kernel");
}

/// Records an error; types that clash where ways meet are told at the first of the reads alone.
void Lowering::report(const Diagnostic &d) {
  auto same = [&](const Diagnostic &other) {
    return other.code == d.code && other.message == d.message && other.notes == d.notes;
  };
  bool clash = (d.code == Code::E210 || d.code == Code::E211) && !d.notes.empty();
  if (!clash || std::none_of(sink_->all().begin(), sink_->all().end(), same)) sink_->add(d);
}

/// After an error, the names that the statement would have assigned are taken as known, so that one fault
/// gives one message.
void Lowering::poison(const ast::Stmt &s) {
  auto mark_name = [&](const std::string &name, Loc loc) {
    auto found = env_.find(name);
    if (found != env_.end() && found->second.kind == Binding::Kind::tensor) return;
    Binding b;
    b.loc = loc;
    bind(name, std::move(b));
    outputs_.erase(name);
  };
  auto mark = [&](const ast::ExprPtr &target) { for_each_name(target, mark_name); };
  if (std::holds_alternative<ast::ReturnStmt>(s.v)) result_ = {};
  if (auto *assign = std::get_if<ast::Assign>(&s.v); assign && !ast::as<ast::Subscript>(assign->target))
    mark(assign->target);
  if (auto *aug = std::get_if<ast::AugAssign>(&s.v); aug && !ast::as<ast::Subscript>(aug->target))
    mark(aug->target);
  if (auto *loop = std::get_if<ast::ForStmt>(&s.v)) {
    for (const std::string &name : changed_in(*loop->body)) mark_name(name, s.loc);
    mark(loop->target);
  }
  if (auto *loop = std::get_if<ast::WhileStmt>(&s.v))
    for (const std::string &name : changed_in(*loop->body)) mark_name(name, s.loc);
}

void Lowering::statement(const ast::Stmt &s) {
  evaluated_.clear();
  // the rules have refused what is missing here
  std::visit(Overload{[&](const ast::Assign &n) { assign(n, s.loc); },
                      [&](const ast::AugAssign &n) { augmented(n, s.loc); },
                      [&](const ast::ForStmt &n) { for_statement(n, s.loc); },
                      [&](const ast::WhileStmt &n) { while_statement(n, s.loc); },
                      [&](const ast::JumpStmt &n) { jump(n.is_break, s.loc); },
                      [&](const ast::WithStmt &n) {
                        scope_arguments(n.context);
                        builder_->owners.push_back(n.body.get());
                        statements(*n.body);
                      },
                      [&](const ast::AssertStmt &n) { assertion(n, s.loc); },
                      [&](const ast::ExprStmt &n) {
                        if (ast::as<ast::CallExpr>(n.value)) expression(n.value);
                      },
                      [&](const ast::IfStmt &n) { if_statement(n, s.loc); },
                      [&](const ast::ReturnStmt &n) { caller_ ? return_scalar(n) : return_values(n); },
                      [](const auto &) {}},
             s.v);
}

/// The arguments of a scheduling scope mean nothing, but are expressions of the language.
void Lowering::scope_arguments(const ast::ExprPtr &context) {
  if (const auto *several = ast::as<ast::Tuple>(context))
    for (const ast::ExprPtr &item : several->items) scope_arguments(item);
  BlockBuilder unused;
  Building inside(builder_, unused);
  Within place(root_->unevaluated_, "the argument of a scope");
  if (const auto *call = ast::as<ast::CallExpr>(context))
    for (const ast::ExprPtr &arg : call->args) expression(arg);
}

void Lowering::assertion(const ast::AssertStmt &s, Loc loc) {
  BlockBuilder unused;
  bool counts = in_.options.debug && in_.options.asserts;
  Building inside(builder_, counts ? *builder_ : unused);
  Within place(root_->unevaluated_, "an assert");
  Expr cond = truth_of(scalar(s.cond));
  Operand message;
  message.text = "the assertion failed";
  if (s.message) message = scalar(s.message);
  if (s.message && message.kind != Operand::Kind::text)
    type_error(Code::E202, s.message->loc, cat("the message of an assert is ", describe(message)),
               "write a string");
  if (!counts) return;
  std::vector<Site> &sites = root_->func_.sites;
  auto same = [&](const Site &site) { return site.loc == s.cond->loc; };  // the statement is lowered again
  auto found = std::find_if(sites.begin(), sites.end(), same);
  auto number = static_cast<uint32_t>(found - sites.begin());
  if (found == sites.end())
    sites.push_back({Code::E305, s.cond->loc, {}, 0, false, false, {message.text, {}, {}, {}}});
  builder_->add(check(cond, number, loc));
}

void Lowering::assign(const ast::Assign &s, Loc loc) {
  if (mentions_expanded(s.value))
    for_each_name(s.target, [&](const std::string &name, Loc) { expanded_.insert(name); });
  if (std::string word = rules_.declaration(s); !word.empty()) return declare(s, word, loc);
  refuse_sliced(s.target);
  assign_target(s.target, expression(s.value), loc);
}

/// E109 for slices that would be assigned: the value beside one is often a tensor, which is no fault of its
/// own.
void Lowering::refuse_sliced(const ast::ExprPtr &target) {
  if (const auto *tuple = ast::as<ast::Tuple>(target))
    for (const ast::ExprPtr &item : tuple->items) refuse_sliced(item);
  const auto *n = ast::as<ast::Subscript>(target);
  if (!n) return;
  auto slice = std::find_if(n->index.begin(), n->index.end(),
                            [](const ast::ExprPtr &item) { return ast::as<ast::Slice>(item) != nullptr; });
  if (slice == n->index.end()) return;
  Operand base = expression(n->value);
  if (base.kind == Operand::Kind::tensor) refuse_slice(base.buf->sym->name, (*slice)->loc);
}

void Lowering::assign_target(const ast::ExprPtr &target, Operand value, Loc loc) {
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
  evaluate_items(value);  // before the first name is assigned
  for (size_t i = 0; i < tuple->items.size(); ++i) assign_target(tuple->items[i], value.items[i], loc);
}

/// The items of a tuple have the values of this place, whatever is assigned later.
void Lowering::evaluate_items(Operand &tuple) {
  for (Operand &item : tuple.items) {
    evaluate_items(item);
    if (item.kind != Operand::Kind::scalar || is_call_constant(item.expr, true)) continue;
    Sym temporary = make_sym(SymKind::local, item.expr.dtype(), "value", item.loc);
    builder_->add_let(temporary, item.expr, item.loc);
    item.expr = ref(temporary, item.loc);
  }
}

bool is_call_constant(const Expr &e, bool iterators) {
  bool constant = true;
  walk(
      e, [&](const Load &, const Expr &) { constant = false; },
      [&](const Call &, const Expr &) { constant = false; },
      [&](const Ref &n, const Expr &) {
        constant = constant && (n.sym->kind == SymKind::extent || n.sym->kind == SymKind::param ||
                                (iterators && n.sym->kind == SymKind::iter));
      });
  return constant && (is_int(e.dtype()) || as<Const>(e) || as<Ref>(e));
}

void Lowering::assign_name(const std::string &name, Operand value, Loc loc, Loc name_loc) {
  if (value.kind == Operand::Kind::poisoned) {
    bind(name, {});
    return;
  }
  if (auto found = env_.find(name); found != env_.end()) {
    if (found->second.kind == Binding::Kind::tensor)
      type_error(Code::E212, name_loc, cat("'", name, "' names a tensor and cannot be rebound"),
                 "use another name, or write its elements");
  }
  if (value.kind == Operand::Kind::tensor)
    type_error(Code::E212, loc, cat("'", name, "' would be a second name of ", describe(value)),
               cat("use '", value.buf->sym->name, "' itself"));
  evaluate_items(value);
  if (in_.locals) note_local(name, value, name_loc);
  const LocalInfo &info = names_.locals[name];
  // a jump may make the one assignment in a branch reach what follows the branch
  auto &owners = builder_->owners;
  bool at_home = std::find(owners.begin(), owners.end(), info.home) != owners.end();
  if (info.assignments != 1 || !at_home) {
    bind(name, variable(name, std::move(value), loc, name_loc));
    return;
  }
  Binding b;
  b.loc = name_loc;
  b.kind = Binding::Kind::value;
  b.value = std::move(value);
  if (b.value.kind == Operand::Kind::scalar && !is_call_constant(b.value.expr, true)) {
    Sym sym = make_sym(SymKind::local, b.value.expr.dtype(), name, name_loc);
    builder_->add_let(sym, b.value.expr, loc);
    b.value.expr = ref(sym, name_loc);
  }
  bind(name, std::move(b));
}

/// What a name is that other assignments may reach as well: numbers, and those in a tuple, have cells.
Binding Lowering::variable(const std::string &name, Operand value, Loc loc, Loc name_loc) {
  Binding b;
  b.loc = name_loc;
  if (value.kind == Operand::Kind::tuple) {
    b.kind = Binding::Kind::tuple;
    for (size_t k = 0; k < value.items.size(); ++k)
      b.items.push_back(variable(item_name(name, k), std::move(value.items[k]), loc, name_loc));
    value.items.clear();
  }
  if (value.kind != Operand::Kind::scalar) {
    if (b.kind != Binding::Kind::tuple) b.kind = Binding::Kind::value;
    b.value = std::move(value);
    return b;
  }
  if (value.truth) refuse_truth_value(value, "kept as a value");
  check_int64(value);
  b.kind = Binding::Kind::cell;
  b.type = value.type();
  b.cell = cell_for(name, b.type);
  if (is_call_constant(value.expr, false)) b.known = value.expr;
  builder_->add(store(b.cell, {}, cast(b.type.dtype, value.expr, loc), loc));
  return b;
}

/// Loops are lowered until their types settle: the last word on a place counts.
void Lowering::note_local(const std::string &name, const Operand &value, Loc loc) const {
  LocalNote note{name, value.kind == Operand::Kind::tuple ? "tuple" : describe(value), loc};
  for (LocalNote &known : *in_.locals)
    if (known.name == name && known.loc == loc) {
      known = std::move(note);
      return;
    }
  in_.locals->push_back(std::move(note));
}

Buf Lowering::cell_for(const std::string &name, ScalarType type) {
  for (const Cell &c : cells_)
    if (c.name == name && c.type == type) return c.buf;
  std::string local = name.substr(0, name.find('[')), symbol;  // of an item, that of the tuple
  for (char c : name)
    if (c != ']') symbol += c == '[' ? '_' : c;
  Buf buf = make_buf(make_sym(SymKind::buffer, type.dtype, symbol), {}, Space::registers);
  cells_.push_back({name, type, names_.locals[local].home, buf});
  return buf;
}

std::vector<Buf> Lowering::cells_of(const std::vector<const ast::Block *> &owners) const {
  std::vector<Buf> out;
  for (const Cell &c : cells_)
    if (std::find(owners.begin(), owners.end(), c.home) != owners.end()) out.push_back(c.buf);
  return out;
}

/// A value as stored: like the cast of that dtype (language.md 2a, V3).
Expr Lowering::store_value(const Operand &value, DType to) {
  if (value.kind != Operand::Kind::scalar || value.truth) adapt(value, to);
  check_conversion(value, to);
  return cast(to, value.expr, value.loc);
}

/// The tensor that a store names; null after a fault that was told.
Buf Lowering::written_tensor(const ast::Subscript &target, Loc target_loc) {
  Operand base = expression(target.value);
  if (base.kind == Operand::Kind::poisoned) return nullptr;
  if (base.kind != Operand::Kind::tensor)
    type_error(Code::E202, target.value->loc, cat(describe(base), " has no elements that could be assigned"),
               buffer_help(target.value, base));
  const std::string &name = base.buf->sym->name;
  if (!base.captured.empty())
    type_error(Code::E117, target_loc, cat("the captured array '", base.captured, "' is written"),
               "make it a parameter: captured arrays are read-only");
  bool is_input = base.buf->space == Space::param && !root_->outputs_.count(name);
  if (is_input && !root_->returns(base.buf))
    type_error(Code::E207, target_loc, cat("'", name, "' is an input that is written but not returned"),
               cat("return it: `return ", name, "`, or write to an output_tensor"));
  root_->written_.insert(name);
  writes_ |= caller_ && ast::as<ast::Name>(target.value) &&
             rules_.is_parameter(ast::as<ast::Name>(target.value)->id);
  return base.buf;
}

void Lowering::assign_element(const ast::Subscript &target, Loc target_loc, Operand value, Loc loc) {
  Buf buf = written_tensor(target, target_loc);
  if (!buf || value.kind == Operand::Kind::poisoned) return leave_out();
  Operand base;
  base.kind = Operand::Kind::tensor;
  base.buf = buf;
  Place place = here();
  std::vector<Expr> index = indices(base, target, target_loc);
  evaluate_before(place, value);
  builder_->add(store(buf, std::move(index), store_value(value, buf->dtype), loc));
}

void Lowering::augmented(const ast::AugAssign &s, Loc loc) {
  if (const auto *n = ast::as<ast::Name>(s.target); n && mentions_expanded(s.value)) expanded_.insert(n->id);
  Operand old = expression(s.target);
  const Load *element = ast::as<ast::Subscript>(s.target) && old.expr ? as<Load>(old.expr) : nullptr;
  std::vector<Expr> index = element ? element->index : std::vector<Expr>{};
  Place place = here();
  Operand value = expression(s.value);
  if (old.kind == Operand::Kind::poisoned || value.kind == Operand::Kind::poisoned) return leave_out();
  evaluate_before(place, old);
  if (!element) return assign_target(s.target, combine(s.op, old, value, loc), loc);
  for (size_t d = index.size(); d-- > 0;) evaluate_before(place, index[d]);
  Operand result = combine(s.op, old, value, loc);
  Buf buf = written_tensor(*ast::as<ast::Subscript>(s.target), s.target->loc);
  builder_->add(store(buf, std::move(index), store_value(result, buf->dtype), loc));
}

void Lowering::return_values(const ast::ReturnStmt &s) {
  std::vector<const ast::ExprPtr *> items;
  if (const auto *tuple = ast::as<ast::Tuple>(s.value)) {
    for (const ast::ExprPtr &item : tuple->items) items.push_back(&item);
    func_.tuple_of_one = items.size() == 1;
  } else
    items.push_back(&s.value);
  for (const ast::ExprPtr *item : items) {
    Operand o = expression(*item);
    if (o.kind == Operand::Kind::poisoned) continue;
    if (o.kind == Operand::Kind::scalar) refuse_result("scalars", (*item)->loc);
    if (o.kind != Operand::Kind::tensor) refuse_result(describe(o), (*item)->loc);
    const auto *tensor = ast::as<ast::Name>(*item);
    if (auto alias = tensor ? aliases_.find(tensor->id) : aliases_.end(); alias != aliases_.end())
      o.buf = alias->second.own;
    const std::string &name = o.buf->sym->name;
    if (!o.captured.empty())
      type_error(Code::E209, (*item)->loc,
                 cat("'", o.captured, "' is a captured array and cannot be returned"),
                 "make it a parameter, or copy its elements to an output");
    if (o.buf->space != Space::param)
      type_error(Code::E209, (*item)->loc, cat("'", name, "' is a temporary and cannot be returned"),
                 "return an input tensor or a tensor allocated by output_tensor");
    if (std::find(func_.results.begin(), func_.results.end(), o.buf) != func_.results.end())
      type_error(Code::E209, (*item)->loc, cat("'", name, "' is returned twice"));
    func_.results.push_back(o.buf);
  }
}

void Lowering::finish_results() {
  for (const auto &[name, loc] : outputs_)
    if (rules_.returned() && !names_.returned.count(name))
      sink_->add({Code::E208,
                  loc,
                  cat("output '", name, "' is not in the return value"),
                  {},
                  {cat("return it, or use allocate for a temporary")}});
  for (Param &p : func_.params) {
    if (!p.buf || p.mode != ParamMode::in) continue;
    auto alias = aliases_.find(p.buf->sym->name);
    const Buf &used = alias == aliases_.end() ? p.buf : alias->second.used;
    if (written_.count(used->sym->name)) p.mode = ParamMode::inout;
  }
}

/// Whether the kernel returns an input, under any of its names.
bool Lowering::returns(const Buf &input) const {
  auto is_returned = [&](const std::string &name) { return names_.returned.count(name) > 0; };
  return is_returned(input->sym->name) ||
         std::any_of(aliases_.begin(), aliases_.end(), [&](const auto &alias) {
           return alias.second.used == input && is_returned(alias.first);
         });
}

Func lower(const ast::Function &f, const FrontendInput &input, Sink &sink) {
  return Lowering(f, input, sink).run();
}

Func compile_source(const FrontendInput &input, Sink &sink) {
  TokenList tokens = tokenize(input.sources, input.source);
  if (tokens.ir_mode) return parse_ir(input.sources, input.source);
  ast::Function f = parse_function(tokens, sink);
  sink.throw_if_errors();
  return lower(f, input, sink);
}

}  // namespace kw
