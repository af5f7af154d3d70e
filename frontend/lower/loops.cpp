// Lowering of loops and of the jumps that end their iterations.
#include "frontend/lower/loops.h"

#include <algorithm>

#include "frontend/lower/calls.h"
#include "frontend/lower/declarations.h"
#include "frontend/lower/evaluation.h"
#include "frontend/lower/expansions.h"
#include "frontend/lower/expressions.h"
#include "frontend/lower/merges.h"
#include "frontend/lower/statements.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

/// One loop of the source: a range, or the nest of a grid.
struct LoopLowering::LoopHeader {
  /// One dimension. The step is a constant, the bounds are i64 expressions.
  struct Level {
    std::string name;
    Loc loc;
    Expr lo, hi;
    int64_t step = 1;
  };
  std::vector<Level> levels;
  std::string point;  ///< the one name of all levels; or ""
  Hint hint = Hint::none;
};

/// Fills the levels of a grid, outermost first, each from 0 to its extent:
///   for i, j in grid((n, m))    →    for i in range(n): for j in range(m)
void LoopLowering::grid_header(const ast::ForStmt &s, const ast::CallExpr &call, LoopHeader &h) {
  const auto *targets = ast::as<ast::Tuple>(s.target);
  std::vector<Expr> extents = declarations().shape_argument(call.args[0]);
  // one name stands for the tuple of all indices
  if (const auto *name = ast::as<ast::Name>(s.target)) h.point = name->id;
  if (targets && extents.size() != targets->items.size())
    type_error(Code::E206, s.target->loc,
               cat("grid has ", counted(extents.size(), "dimension"), " but ",
                   counted(targets->items.size(), "variable")));
  for (size_t d = 0; d < extents.size(); ++d) {
    const ast::ExprPtr &target = targets ? targets->items[d] : s.target;
    h.levels.push_back(
        {ast::as<ast::Name>(target)->id, target->loc, const_int(0, s.iterable->loc), extents[d], 1});
  }
}

/// Fills the one level of a range. Bounds are evaluated in the order in which they are written.
void LoopLowering::range_header(const ast::CallExpr &call, LoopHeader &h) {
  LoopHeader::Level &level = h.levels.back();
  Expr zero = const_int(0, call.args[0]->loc);
  Expr first = expressions().index_from(call.args[0], "the bound of a loop"), second = first;
  if (call.args.size() > 1) {
    Place place = here();
    second = expressions().index_from(call.args[1], "the bound of a loop");
    evaluation().evaluate_before(place, first);
  }
  level.lo = call.args.size() == 1 ? zero : first;
  level.hi = second;
  if (call.args.size() == 3)
    level.step = expressions().constant_int(call.args[2], "the step of a loop", Code::E116, step_help);
  if (level.step == 0) refuse_zero_step(call.args[2]->loc);
}

/// Lowers the iterable of a `for`, once, before the attempts at its body.
LoopLowering::LoopHeader LoopLowering::loop_header(const ast::ForStmt &s) {
  const auto *call = ast::as<ast::CallExpr>(s.iterable);
  std::string word = cx_.rules.callee_word(call->callee);
  calls().warn_callee(call->callee);
  LoopHeader h;
  h.hint = hint_of_word(word);
  if (word == "grid") {
    grid_header(s, *call, h);
    return h;
  }
  const auto *target = ast::as<ast::Name>(s.target);
  h.levels.push_back({target->id, s.target->loc, {}, {}, 1});
  range_header(*call, h);
  return h;
}

/// Returns whether a `break` of the loop with this body is among its statements.
static bool has_break(const ast::Block &body) {
  return std::any_of(body.begin(), body.end(), [](const ast::Stmt &s) {
    if (const auto *n = std::get_if<ast::JumpStmt>(&s.v)) return n->is_break;
    if (const auto *n = std::get_if<ast::IfStmt>(&s.v))
      return has_break(*n->yes) || (n->no && has_break(*n->no));
    const auto *scope = std::get_if<ast::WithStmt>(&s.v);
    return scope && has_break(*scope->body);
  });
}

/// Begins a loop with the current environment. If `nested`, `break` leaves several loops of the IR, so it
/// must set a flag.
Loop LoopLowering::open_loop(const ast::Block &body, bool nested) {
  Loop loop;
  loop.names = merges().changed_in(body);
  loop.before = cx_.env;
  loop.breaks = has_break(body);
  loop.tell = nested && loop.breaks;
  // a name that the body assigns no longer has the constant value from before the loop
  loop.next.arrived = true;
  loop.next.env = cx_.env;
  for (const std::string &name : loop.names)
    if (auto found = loop.next.env.find(name); found != loop.next.env.end())
      found->second.for_each([](Binding &b) { b.known.reset(); });
  // the second iteration begins with the value that an inner loop left in its variable
  for (const std::string &name : merges().looped_in(body))
    if (auto found = loop.next.env.find(name);
        found != loop.next.env.end() && found->second.kind != Binding::Kind::tensor)
      found->second.kind = Binding::Kind::partial;
  return loop;
}

/// Registers the cells of a binding again: each attempt begins with the cells that existed before it.
void LoopLowering::renew_cells(const std::string &name, Binding &b) {
  if (b.kind == Binding::Kind::cell) b.cell = cell_for(name, b.type);
  for (size_t k = 0; k < b.items.size(); ++k) renew_cells(item_name(name, k), b.items[k]);
}

/// Lowers a loop repeatedly until the types at its head and after it no longer change.
void LoopLowering::run_to_fixpoint(Loop &loop, const std::vector<Join *> &joins,
                                   const std::function<void()> &attempt) {
  Sink *outer_sink = cx_.sink;
  std::vector<Diagnostic> first;  // errors of the last attempt that reported any
  // terminates, because merging only goes from weak to strong, to wider types, or to conflict
  for (bool stable = false; !stable;) {
    Sink found;
    // only the last attempt has effects: cells, warnings and errors of the others are discarded
    std::vector<Cell> cells = cx_.cells;
    std::set<std::string> shadow_warned = cx_.shadow_warned;
    // the merged cells were created inside an attempt
    for (Join *join : joins) {
      join->grew = false;
      for (auto &[name, binding] : join->env) renew_cells(name, binding);
    }
    bool told = loop.tell, left_out = cx_.wide.left_out;
    if (told && !loop.left)
      loop.left = make_buf(make_sym(SymKind::buffer, DType::b1, "left"), {}, Space::registers);
    cx_.sink = &found;
    cx_.loops.push_back(&loop);
    try {
      attempt();
    } catch (...) {
      cx_.sink = outer_sink;
      cx_.loops.pop_back();
      throw;
    }
    cx_.sink = outer_sink;
    cx_.loops.pop_back();
    // code after the loop is live, whether the last attempt ended in a jump or not
    cx_.live = true;
    stable = told == loop.tell && std::none_of(joins.begin(), joins.end(), [](Join *j) { return j->grew; });
    auto is_error = [](const Diagnostic &d) { return !d.is_warning(); };
    auto poisoned = [](const Join *j) {
      return std::any_of(j->env.begin(), j->env.end(),
                         [](const auto &b) { return b.second.kind == Binding::Kind::poisoned; });
    };
    // if the last attempt reports nothing about a poisoned name, the errors of an earlier attempt explain it
    bool silent = std::none_of(found.all().begin(), found.all().end(), is_error);
    if (stable && silent && std::any_of(joins.begin(), joins.end(), poisoned))
      for (const Diagnostic &d : first) report(d);
    if (!silent) first.assign(found.all().begin(), found.all().end());
    if (stable)
      for (const Diagnostic &d : found.all()) report(d);
    else
      cx_.cells = std::move(cells), cx_.shadow_warned = std::move(shadow_warned),
      cx_.wide.left_out = left_out;
  }
}

/// Starts an attempt with the types at the loop's head. If the loop `ends` by itself, these also reach its
/// exit.
void LoopLowering::begin_attempt(Loop &loop, bool ends) {
  loop.faulty.clear();
  cx_.env = loop.next.env;
  if (ends && !std::exchange(loop.exit.arrived, true)) loop.exit.env = cx_.env;
}

/// Merges the end of a body into the loop's head, and the head into the exit.
void LoopLowering::end_attempt(Loop &loop, bool ends) {
  // tested only at the end of the body, because a later assignment may mend a name
  for (const auto &[name, binding] : cx_.env)
    if (binding.kind == Binding::Kind::poisoned) loop.faulty.insert(name);
  if (cx_.live) merges().arrive(loop.next, loop.names);
  if (!ends) return;
  // only the types matter here: close_loop emits the conversions after the loop
  BlockBuilder unused;
  Building inside(cx_.builder, unused);
  cx_.env = loop.next.env;
  merges().arrive(loop.exit, loop.names);
  // a `break` converts its cells itself, so the conversions at the loop's end must not follow it
  loop.tell |= loop.breaks && merges().cells_differ(loop.next.env, loop.exit.env, loop.names);
}

/// Emits the loop, with the conversions at its entry and its end.
void LoopLowering::close_loop(Loop &loop, const Stmt &s, Loc loc) {
  // conversions at the loop's entry, for the values that its first iteration reads
  merges().convert_cells(loop.before, loop.next.env, loop.names);
  if (loop.tell) {
    cx_.builder->add_alloc(loop.left, Fill::none, loc);
    cx_.builder->add(store(loop.left, {}, const_bool(false, loc), loc));
  }
  if (s) cx_.builder->add(s);
  if (loop.tell && merges().cells_differ(loop.next.env, loop.exit.env, loop.names)) {
    BlockBuilder end;
    {
      Building inside(cx_.builder, end);
      merges().convert_cells(loop.next.env, loop.exit.env, loop.names);
    }
    cx_.builder->add(
        if_else(unary(UnOp::logical_not, load(loop.left, {}, loc), loc), end.finish({}), {}, loc));
  }
  cx_.env = loop.exit.arrived ? std::move(loop.exit.env) : std::move(loop.next.env);
  for (const std::string &name : loop.names) {
    if (loop.before.count(name) && cx_.env.count(name)) continue;
    auto found = cx_.env.find(name);
    if (found != cx_.env.end() && found->second.is_variable()) continue;
    Binding b;
    b.kind = loop.faulty.count(name) ? Binding::Kind::poisoned : Binding::Kind::partial;
    b.loc = loc;
    bind(name, std::move(b));
  }
}

/// Lowers `break` and `continue`: the current bindings arrive at the exit or at the head of the loop.
void LoopLowering::jump(bool is_break, Loc loc) {
  Loop &loop = *cx_.loops.back();
  if (is_break && loop.tell) cx_.builder->add(store(loop.left, {}, const_bool(true, loc), loc));
  if (is_break) merges().leave_block(loop.before, loop.names);
  merges().arrive(is_break ? loop.exit : loop.next, loop.names);
  cx_.builder->add(make_stmt(loc, Jump{is_break ? JumpKind::break_loop : JumpKind::continue_loop}));
  cx_.live = false;
}

/// Lowers the body of a `for` once, and returns the nest of its levels.
Stmt LoopLowering::for_attempt(const ast::ForStmt &s, const LoopHeader &h, Loop &loop) {
  begin_attempt(loop, true);
  std::vector<Sym> iters;
  Binding point;
  point.kind = Binding::Kind::iter;
  point.loc = s.target->loc;
  point.value.kind = Operand::Kind::tuple;
  for (const LoopHeader::Level &level : h.levels) {
    auto found = cx_.env.find(level.name);
    if (found != cx_.env.end() && found->second.kind == Binding::Kind::tensor) {
      cx_.rules.excuse(level.name);
      type_error(Code::E212, level.loc,
                 cat("'", level.name, "' names a tensor and cannot be a loop variable"), "use another name");
    }
    iters.push_back(make_sym(SymKind::iter, DType::i64, level.name, level.loc));
    point.value.items.push_back(scalar_operand(ref(iters.back(), level.loc), true, level.loc));
    if (!h.point.empty()) continue;
    Binding b = point;
    b.loc = level.loc;
    b.value = point.value.items.back();
    bind(level.name, std::move(b));
  }
  if (!h.point.empty()) bind(h.point, std::move(point));
  BlockBuilder body;
  body.owners.push_back(s.body.get());
  {
    Building inside(cx_.builder, body);
    statements().statements(*s.body);
    end_attempt(loop, true);
  }
  Stmt out = body.finish(cells_of(body.owners));
  Loc loc = s.iterable->loc;
  // a grid of rank 0 runs its body once; without a loop around the body its jumps would leave another loop
  if (h.levels.empty() && jumps_of(out).any()) {
    Sym once = make_sym(SymKind::iter, DType::i64, "once", loc);
    out = for_loop({once, const_int(0), const_int(1), 1, ForKind::serial, h.hint, {}, out}, loc);
  }
  for (size_t d = h.levels.size(); d-- > 0;) {
    const LoopHeader::Level &level = h.levels[d];
    out = for_loop({iters[d], level.lo, level.hi, level.step, ForKind::serial, h.hint, {}, out}, loc);
    if (d == 0 || !loop.left) continue;  // `break` leaves the whole grid
    Stmt leave = make_stmt(loc, Jump{JumpKind::break_loop});
    out = seq({out, if_else(load(loop.left, {}, loc), leave, {}, loc)}, loc);
  }
  return out;
}

/// Lowers a `for`: a const_range is expanded, any other iterable becomes one loop or a nest.
void LoopLowering::for_statement(const ast::ForStmt &s, Loc) {
  if (cx_.rules.callee_word(ast::as<ast::CallExpr>(s.iterable)->callee) == "const_range")
    return expansions().const_range(s);
  LoopHeader h = loop_header(s);
  Loop loop = open_loop(*s.body, h.levels.size() > 1);
  Stmt out;
  run_to_fixpoint(loop, {&loop.next, &loop.exit}, [&] { out = for_attempt(s, h, loop); });
  close_loop(loop, out, s.iterable->loc);
  leave_variables(s);
}

/// Makes loop variables unassigned after their loop.
void LoopLowering::leave_variables(const ast::ForStmt &s) {
  for_each_name(s.target, [&](const std::string &name, Loc loc) {
    Binding b;
    b.kind = Binding::Kind::partial;
    b.loc = loc;
    bind(name, std::move(b));
  });
}

/// Lowers a while once. The condition is evaluated at the head of each iteration; statements that it needs go
/// into the body.
Stmt LoopLowering::while_attempt(const ast::WhileStmt &s, Loc loc, Loop &loop) {
  cx_.env = loop.next.env;
  BlockBuilder body;
  body.owners.push_back(s.body.get());
  Building inside(cx_.builder, body);
  Operand cond = expressions().expression(s.cond);
  bool faulty = cond.kind == Operand::Kind::poisoned;
  if (faulty) leave_out();
  Expr test = faulty ? const_bool(true, loc) : truth_of(cond);
  auto known = as_int(test);
  if (known == 0) {  // the dead body is not lowered
    begin_attempt(loop, true);
    end_attempt(loop, true);
    return {};
  }
  // `while True` ends only by `break`, so its head never meets the exit
  begin_attempt(loop, faulty || !known);
  // a condition that needs statements cannot be the While's own condition:
  // while f(x) > 0: body    →    while True: (statements of f; if not result > 0: break; body)
  if (!body.empty()) {
    Stmt leave = make_stmt(loc, Jump{JumpKind::break_loop});
    body.add(
        if_else(unary(UnOp::logical_not, std::exchange(test, const_bool(true, loc)), loc), leave, {}, loc));
  }
  statements().statements(*s.body);
  end_attempt(loop, faulty || !known);
  return make_stmt(loc, While{test, body.finish(cells_of(body.owners))});
}

/// Lowers a `while`. Its condition is part of each attempt, because its type may change with the body.
void LoopLowering::while_statement(const ast::WhileStmt &s, Loc loc) {
  Loop loop = open_loop(*s.body, false);
  Stmt out;
  run_to_fixpoint(loop, {&loop.next, &loop.exit}, [&] { out = while_attempt(s, loc, loop); });
  close_loop(loop, out, loc);
}

}  // namespace kw
