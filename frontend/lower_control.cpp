// Lowering of branches and loops, and of what merges where control flow joins.
#include <algorithm>

#include "frontend/lowering.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

namespace {
using NamesOfBlocks = std::map<const ast::Block *, std::set<std::string>>;
const std::set<std::string> &names_in(const NamesOfBlocks &all, const ast::Block &b) {
  static const std::set<std::string> none;
  auto found = all.find(&b);
  return found == all.end() ? none : found->second;
}
}  // namespace

const std::set<std::string> &Lowering::assigned_in(const ast::Block &b) const {
  return names_in(names_.assigned, b);
}

const std::set<std::string> &Lowering::looped_in(const ast::Block &b) const {
  return names_in(names_.looped, b);
}

/// E203 for a weak constant that its merged type cannot hold.
void Lowering::report_range(const Expr &value, DType to, Loc loc) {
  try {
    require_range(value, to, loc);
  } catch (const CompileError &error) {
    for (const Diagnostic &d : error.found()) sink_->add(d);
  }
}

/// Stores each cell of `names` over from its type in `from` to its type in `to`, at the end of the current
/// block.
void Lowering::convert_cells(const Env &from, const Env &to, const std::set<std::string> &names) {
  for (const std::string &name : names) {
    auto a = from.find(name), b = to.find(name);
    if (a == from.end() || b == to.end()) continue;
    if (a->second.kind != Binding::Kind::cell || b->second.kind != Binding::Kind::cell) continue;
    if (a->second.type == b->second.type) continue;
    Expr value = a->second.known ? *a->second.known : load(a->second.cell, {}, a->second.loc);
    if (a->second.type.weak && !b->second.type.weak) report_range(value, b->second.type.dtype, a->second.loc);
    builder_->add(store(b->second.cell, {}, cast(b->second.type.dtype, value), a->second.loc));
  }
}

void Lowering::if_statement(const ast::IfStmt &s, Loc loc) {
  Operand cond = expression(s.cond);
  if (cond.kind == Operand::Kind::poisoned) cond = scalar_operand(const_bool(true), true, loc);
  Expr test = truth_of(cond);
  if (auto known = as_int(test)) {  // decided at compile time: the dead branch is not looked at
    const ast::Block *taken = *known ? s.yes.get() : s.no.get();
    if (!taken) return;
    builder_->owners.push_back(taken);
    return statements(*taken);
  }
  Env before = env_;
  BlockBuilder yes, no;
  yes.owners.push_back(s.yes.get());
  BlockBuilder *outer = std::exchange(builder_, &yes);
  statements(*s.yes);
  Env after_yes = std::exchange(env_, before);
  builder_ = &no;
  if (s.no) {
    no.owners.push_back(s.no.get());
    statements(*s.no);
  }
  Env after_no = std::exchange(env_, before);

  std::set<std::string> names = assigned_in(*s.yes);
  names.merge(std::set<std::string>(looped_in(*s.yes)));
  if (s.no) names.insert(assigned_in(*s.no).begin(), assigned_in(*s.no).end());
  if (s.no) names.merge(std::set<std::string>(looped_in(*s.no)));
  for (const std::string &name : names) {
    auto a = after_yes.find(name), b = after_no.find(name);
    if (a == after_yes.end() && b == after_no.end()) continue;
    auto is_iter = [](auto found, const Env &env) {
      return found != env.end() && found->second.kind == Binding::Kind::iter;
    };
    if (is_iter(a, after_yes) && is_iter(b, after_no)) continue;  // an inner loop over it was faulty
    Binding merged;
    merged.loc = a != after_yes.end() ? a->second.loc : b->second.loc;
    bool both_cells = a != after_yes.end() && b != after_no.end() && a->second.kind == Binding::Kind::cell &&
                      b->second.kind == Binding::Kind::cell;
    bool poisoned = (a != after_yes.end() && a->second.kind == Binding::Kind::poisoned) ||
                    (b != after_no.end() && b->second.kind == Binding::Kind::poisoned);
    if (both_cells) {
      Merge merge = merge_types(name, a->second.type, b->second.type);
      if (merge.type) {
        merged.kind = Binding::Kind::cell;
        merged.type = *merge.type;
        merged.cell = cell_for(name, merged.type);
      } else {
        merged.kind = Binding::Kind::conflict;
        merged.clash = merge;
      }
    } else if (!poisoned) {
      merged.kind = Binding::Kind::partial;
    }
    for (const Env *side : {&after_yes, &after_no})
      if (auto found = side->find(name);
          found != side->end() && found->second.kind == Binding::Kind::conflict)
        merged = found->second;
    bind(name, std::move(merged));
  }
  builder_ = &yes;
  convert_cells(after_yes, env_, names);
  builder_ = &no;
  convert_cells(after_no, env_, names);
  builder_ = outer;
  Stmt otherwise = no.finish(cells_of(no.owners));
  const Seq *list = as<Seq>(otherwise);
  bool empty = list && list->items.empty();
  builder_->add(if_else(test, yes.finish(cells_of(yes.owners)), empty ? Stmt{} : otherwise, loc));
}

/// One loop of the source: a range, or the nest of a grid.
struct Lowering::LoopHeader {
  struct Level {
    std::string name;
    Loc loc;
    Expr lo, hi;
    int64_t step = 1;
  };
  std::vector<Level> levels;
  Hint hint = Hint::none;
};

void Lowering::grid_header(const ast::ForStmt &s, const ast::CallExpr &call, LoopHeader &h) {
  const auto *targets = ast::as<ast::Tuple>(s.target);
  std::vector<Expr> extents = shape_argument(call.args[0]);
  if (extents.size() != targets->items.size())
    type_error(Code::E206, s.target->loc,
               cat("grid has ", counted(extents.size(), "dimension"), " but ",
                   counted(targets->items.size(), "variable")));
  for (size_t d = 0; d < extents.size(); ++d) {
    const auto *name = ast::as<ast::Name>(targets->items[d]);
    h.levels.push_back({name->id, targets->items[d]->loc, const_int(0, s.iterable->loc), extents[d], 1});
  }
}

void Lowering::range_header(const ast::CallExpr &call, LoopHeader &h) {
  LoopHeader::Level &level = h.levels.back();
  Expr zero = const_int(0, call.args[0]->loc);
  Expr first = index_of(scalar(call.args[0]), "the bound of a loop");
  level.lo = call.args.size() == 1 ? zero : first;
  level.hi = call.args.size() == 1 ? first : index_of(scalar(call.args[1]), "the bound of a loop");
  if (call.args.size() == 3) level.step = constant_int(call.args[2], "the step of a loop", Code::E116);
  if (level.step == 0) refuse_zero_step(call.args[2]->loc);
}

Lowering::LoopHeader Lowering::loop_header(const ast::ForStmt &s) {
  const auto *call = ast::as<ast::CallExpr>(s.iterable);
  std::string word = rules_.callee_word(call->callee);
  warn_callee(call->callee);
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

/// Lowers the body once with the types of `head` at its entry. Merged types are written back to `head`.
Stmt Lowering::loop_body(const ast::ForStmt &s, const LoopHeader &h, Env &head) {
  env_ = head;
  std::vector<Sym> iters;
  for (const LoopHeader::Level &level : h.levels) {
    auto found = env_.find(level.name);
    if (found != env_.end() && found->second.kind == Binding::Kind::tensor) {
      rules_.excuse(level.name);
      type_error(Code::E212, level.loc,
                 cat("'", level.name, "' names a tensor and cannot be a loop variable"), "use another name");
    }
    iters.push_back(make_sym(SymKind::iter, DType::i64, level.name, level.loc));
    Binding b;
    b.kind = Binding::Kind::iter;
    b.loc = level.loc;
    b.value = scalar_operand(ref(iters.back(), level.loc), true, level.loc);
    bind(level.name, std::move(b));
  }
  BlockBuilder body;
  body.owners.push_back(s.body.get());
  BlockBuilder *outer = std::exchange(builder_, &body);
  statements(*s.body);
  const std::set<std::string> &names = assigned_in(*s.body);
  for (const std::string &name : names) {
    auto entry = head.find(name), end = env_.find(name);
    if (entry == head.end() || end == env_.end()) continue;
    if (entry->second.kind != Binding::Kind::cell || end->second.kind != Binding::Kind::cell) continue;
    Merge merge = merge_types(name, entry->second.type, end->second.type);
    if (!merge.type) {  // an error only if the name is read before the body assigns it again, or after the
                        // loop
      entry->second.kind = Binding::Kind::conflict;
      entry->second.clash = merge;
      entry->second.loc = end->second.loc;
      continue;
    }
    if (*merge.type == entry->second.type) continue;
    entry->second.type = *merge.type;
    entry->second.cell = cell_for(name, *merge.type);
  }
  convert_cells(env_, head, names);
  builder_ = outer;
  Stmt out = body.finish(cells_of(body.owners));
  for (size_t d = h.levels.size(); d-- > 0;) {
    const LoopHeader::Level &level = h.levels[d];
    out = for_loop({iters[d], level.lo, level.hi, level.step, ForKind::serial, 0, h.hint, out},
                   s.iterable->loc);
  }
  return out;
}

void Lowering::for_statement(const ast::ForStmt &s, Loc) {
  LoopHeader h = loop_header(s);
  Env before = env_;
  const std::set<std::string> &names = assigned_in(*s.body);
  // what the body assigns is no longer the constant it was before the loop, and a single assignment may not
  // be seen from outside
  Env head = env_;
  for (const std::string &name : names)
    if (auto found = head.find(name); found != head.end()) found->second.known.reset();
  // the second iteration begins with what an inner loop left in its variable
  for (const std::string &name : looped_in(*s.body))
    if (auto found = head.find(name); found != head.end() && found->second.kind != Binding::Kind::tensor)
      found->second.kind = Binding::Kind::partial;
  Sink *outer_sink = sink_;
  Stmt loop;
  for (bool stable = false; !stable;) {
    Sink attempt;
    std::vector<Cell> cells = cells_;
    std::set<std::string> shadow_warned = shadow_warned_;
    Env types = head;
    sink_ = &attempt;
    try {
      loop = loop_body(s, h, head);
    } catch (...) {
      sink_ = outer_sink;
      throw;
    }
    sink_ = outer_sink;
    stable = std::all_of(names.begin(), names.end(), [&](const std::string &name) {
      auto a = types.find(name), b = head.find(name);
      if (a == types.end() || b == head.end()) return true;
      return a->second.type == b->second.type && a->second.kind == b->second.kind;
    });
    if (stable)
      for (const Diagnostic &d : attempt.all()) sink_->add(d);
    else
      cells_ = std::move(cells), shadow_warned_ = std::move(shadow_warned);
    // the merged cells were created inside the attempt
    for (auto &[name, binding] : head)
      if (!stable && binding.kind == Binding::Kind::cell) binding.cell = cell_for(name, binding.type);
  }
  env_ = head;
  for (const std::string &name : names)
    if (!before.count(name)) {
      Binding b;
      b.kind = Binding::Kind::partial;
      b.loc = s.iterable->loc;
      bind(name, std::move(b));
    }
  for (const LoopHeader::Level &level : h.levels) {
    Binding b;
    b.kind = Binding::Kind::partial;
    b.loc = level.loc;
    bind(level.name, std::move(b));
  }
  convert_cells(before, env_, names);
  builder_->add(loop);
}

}  // namespace kw
