// Lowering of branches, and of what a name is where several ways of control flow meet.
#include <algorithm>

#include "frontend/lower/lowering.h"
#include "ir/equal.h"
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

const Binding *find(const Env &env, const std::string &name) {
  auto found = env.find(name);
  return found == env.end() ? nullptr : &found->second;
}

bool same_operand(const Operand &a, const Operand &b) {
  if (a.kind != b.kind || a.weak != b.weak || a.text != b.text || a.buf != b.buf) return false;
  if (a.kind == Operand::Kind::scalar && !equal(a.expr, b.expr)) return false;
  if (a.kind == Operand::Kind::dtype && a.dtype != b.dtype) return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same_operand);
}

/// What an assignment of a number, a tuple, a dtype or a text gives to a name.
bool is_local_value(const Binding &b) {
  using Kind = Binding::Kind;
  if (b.kind != Kind::value) return b.is_variable();
  return b.value.kind == Operand::Kind::dtype || b.value.kind == Operand::Kind::text ||
         b.value.kind == Operand::Kind::tuple;
}

/// Whether the two are merged in different ways.
bool differ(const Binding &a, const Binding &b) {
  return a.kind != b.kind || a.type != b.type ||
         !std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                     [](const Binding &x, const Binding &y) { return !differ(x, y); });
}

/// True when the names of the operand's expressions are bound wherever the call's own are.
bool outlives_blocks(const Operand &o) {
  bool scalar = o.kind == Operand::Kind::scalar;
  return o.kind != Operand::Kind::tensor && (!scalar || is_call_constant(o.expr, false)) &&
         std::all_of(o.items.begin(), o.items.end(), outlives_blocks);
}
}  // namespace

std::set<std::string> Lowering::changed_in(const ast::Block &b) const {
  std::set<std::string> names = names_in(names_.assigned, b);
  const std::set<std::string> &looped = looped_in(b);
  names.insert(looped.begin(), looped.end());
  return names;
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

/// Stores a cell, or those of a tuple, over from its type in `a` to its type in `b`.
void Lowering::convert_cell(const Binding &a, const Binding &b) {
  if (a.kind != b.kind) return;
  for (size_t k = 0; k < std::min(a.items.size(), b.items.size()); ++k) convert_cell(a.items[k], b.items[k]);
  if (a.kind != Binding::Kind::cell || a.type == b.type) return;
  Expr value = a.known ? *a.known : load(a.cell, {}, a.loc);
  if (a.type.weak && !b.type.weak) {
    report_range(value, b.type.dtype, a.loc);
    check_operand(scalar_operand(value, true, a.loc), b.type.dtype);
  }
  builder_->add(store(b.cell, {}, cast(b.type.dtype, value), a.loc));
}

/// Stores each cell of `names` over from its type in `from` to its type in `to`, at the end of the current
/// block.
void Lowering::convert_cells(const Env &from, const Env &to, const std::set<std::string> &names) {
  for (const std::string &name : names) {
    const Binding *a = find(from, name), *b = find(to, name);
    if (a && b) convert_cell(*a, *b);
  }
}

bool Lowering::cells_differ(const Env &from, const Env &to, const std::set<std::string> &names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string &name) {
    const Binding *a = find(from, name), *b = find(to, name);
    return a && b && a->kind == b->kind && differ(*a, *b);
  });
}

/// Why what both ways assign is nothing that a name can be behind them.
Merge Lowering::clash_of(const std::string &name, const Binding &a, const Binding &b) const {
  auto text = [](const Binding &side) {
    if (side.kind == Binding::Kind::cell) return type_text(side.type);
    if (side.kind == Binding::Kind::tuple) return cat("a tuple of ", side.items.size());
    bool dtype = side.value.kind == Operand::Kind::dtype;
    return dtype ? cat("the dtype ", numpy_name(side.value.dtype)) : describe(side.value);
  };
  std::string one = text(a), other = text(b);
  if (one == other) other = cat("another", one.substr(1));
  bool tuples = a.kind == Binding::Kind::tuple || b.kind == Binding::Kind::tuple;
  bool dtypes = a.value.kind == Operand::Kind::dtype || b.value.kind == Operand::Kind::dtype;
  Merge out{std::nullopt,
            tuples   ? Code::E206
            : dtypes ? Code::E216
                     : Code::E202,
            cat("'", name, "' is ", one, " on one path and ", other, " on the other"),
            "only numbers can change between paths: write out what each path does with its own",
            {}};
  if (a.loc.known() && b.loc.known())
    out.note = cat("'", name, "' is ", one, " from line ", line_mark(in_.sources, a.loc), ", and ", other,
                   " from line ", line_mark(in_.sources, b.loc));
  return out;
}

/// What a name is behind a meeting of two ways; null stands for unassigned.
Binding Lowering::merge(const std::string &name, const Binding *a, const Binding *b) {
  using Kind = Binding::Kind;
  for (const Binding *side : {b, a})
    if (side && side->kind == Kind::conflict) return *side;
  for (const Binding *side : {a, b})
    if (side && side->kind == Kind::poisoned) return *side;
  if (a && b && a->kind == b->kind && !a->is_variable() && same_operand(a->value, b->value)) return *a;
  Binding out;
  out.loc = a ? a->loc : b->loc;
  out.kind = Kind::partial;
  if (!a || !b || !is_local_value(*a) || !is_local_value(*b)) return out;
  if (a->kind == Kind::tuple && b->kind == Kind::tuple && a->items.size() == b->items.size()) {
    out.kind = Kind::tuple;
    out.value = a->value;
    for (size_t k = 0; k < a->items.size(); ++k)
      out.items.push_back(merge(item_name(name, k), &a->items[k], &b->items[k]));
    return out;
  }
  if (a->kind != Kind::cell || b->kind != Kind::cell) {
    out.kind = Kind::conflict;
    out.clash = clash_of(name, *a, *b);
    return out;
  }
  Merge types = merge_types(name, a->type, b->type);
  out.kind = types.type ? Kind::cell : Kind::conflict;
  if (types.type) {
    out.type = *types.type;
    out.cell = cell_for(name, out.type);
  } else {
    out.clash = std::move(types);
    auto from = [&](const Binding &side) {
      return cat(type_text(side.type), " from line ", line_mark(in_.sources, side.loc));
    };
    if (a->loc.known() && b->loc.known())
      out.clash.note = cat("'", name, "' is ", from(*a), ", and ", from(*b));
  }
  return out;
}

/// What was bound inside a block that control leaves is unassigned outside of it, cells and constants aside.
void Lowering::leave_block(const Env &outside, const std::set<std::string> &names) {
  using Kind = Binding::Kind;
  for (const std::string &name : names) {
    auto found = env_.find(name);
    if (found == env_.end()) continue;
    Binding &b = found->second;
    if (b.kind != Kind::value && b.kind != Kind::iter && b.kind != Kind::tensor) continue;
    const Binding *before = find(outside, name);
    bool unchanged = before && before->kind == b.kind && same_operand(before->value, b.value);
    if (!unchanged && !outlives_blocks(b.value)) b.kind = Kind::partial;
  }
}

/// The current environment reaches a place that other ways reach too.
void Lowering::arrive(Join &join, const std::set<std::string> &names) {
  if (!join.arrived) {
    join.env = env_;
    join.arrived = true;
    return;
  }
  for (const std::string &name : names) {
    const Binding *here = find(env_, name);
    auto there = join.env.find(name);
    if (there == join.env.end()) continue;  // unassigned on another way
    // A fault of one way must not reach the next attempt, in which it may be none: it would hide what
    // follows.
    using Kind = Binding::Kind;
    if (here && here->kind == Kind::poisoned) continue;
    if (here && there->second.kind == Kind::poisoned) there->second = *here, join.grew = true;
    Binding both = merge(name, &there->second, here);
    if (both.kind == Binding::Kind::conflict && here) both.loc = here->loc;
    join.grew |= differ(both, there->second);
    there->second = std::move(both);
    there->second.for_each([](Binding &b) { b.known.reset(); });
  }
  convert_cells(env_, join.env, names);
}

/// The truth of a condition; of a faulty one true, so that both ways are looked at for further errors.
Expr Lowering::condition(const ast::ExprPtr &e, Loc loc) {
  Operand cond = expression(e);
  if (cond.kind == Operand::Kind::poisoned) leave_out(), cond = scalar_operand(const_bool(true), true, loc);
  return truth_of(cond);
}

void Lowering::if_statement(const ast::IfStmt &s, Loc loc) {
  if (is_long_chain(s)) return long_chain(s, loc);
  Expr test = condition(s.cond, loc);
  if (auto known = as_int(test)) {  // decided at compile time: the dead branch is not looked at
    const ast::Block *taken = *known ? s.yes.get() : s.no.get();
    if (!taken) return;
    builder_->owners.push_back(taken);
    return statements(*taken);
  }
  std::set<std::string> names = changed_in(*s.yes);
  if (s.no) names.merge(changed_in(*s.no));
  auto block = [&](const ast::Block *b) {
    if (!b) return;
    builder_->owners.push_back(b);
    statements(*b);
  };
  branch(test, [&] { block(s.yes.get()); }, [&] { block(s.no.get()); }, names, loc);
}

/// Lowers both ways of a condition, which assign `names`, and what they are where the ways meet.
void Lowering::branch(const Expr &test, const std::function<void()> &lower_yes,
                      const std::function<void()> &lower_no, const std::set<std::string> &names, Loc loc) {
  Env before = env_;
  BlockBuilder yes, no;
  auto lower_way = [&](BlockBuilder &to, const std::function<void()> &lower) {
    Building inside(builder_, to);
    lower();
  };
  lower_way(yes, lower_yes);
  bool yes_ends = std::exchange(live_, true);
  Env after_yes = std::exchange(env_, before);
  lower_way(no, lower_no);
  if (yes_ends && live_) {
    meet(before, after_yes, yes, no, names);
  } else {
    if (yes_ends) env_ = std::move(after_yes);
    leave_block(before, names);
    live_ = yes_ends || live_;
  }
  Stmt otherwise = no.finish(cells_of(no.owners));
  const Seq *list = as<Seq>(otherwise);
  bool empty = list && list->items.empty();
  builder_->add(if_else(test, yes.finish(cells_of(yes.owners)), empty ? Stmt{} : otherwise, loc));
}

namespace {
/// The `elif` of a chain, or null.
const ast::IfStmt *next_in_chain(const ast::IfStmt &s) {
  return s.no && s.no->size() == 1 ? std::get_if<ast::IfStmt>(&s.no->front().v) : nullptr;
}
}  // namespace

/// Branches nest in the IR, whose depth is limited.
bool Lowering::is_long_chain(const ast::IfStmt &s) {
  constexpr size_t most = 100;  // chosen: the limit of nested blocks, a tenth of that of the IR
  size_t length = 0;
  for (const ast::IfStmt *n = &s; n && length <= most; n = next_in_chain(*n)) ++length;
  return length > most;
}

/// Finds the first condition that holds, one after the other, then its branch by bisection:
///
///   if c0: A                        branch = 0
///   elif c1: B             →        if c0: branch = 1
///   else: C                         if branch == 0: (if c1: branch = 2)
///                                   if branch < 1: C  else: (if branch < 2: A else: B)
void Lowering::long_chain(const ast::IfStmt &s, Loc loc) {
  Buf branch = make_buf(make_sym(SymKind::buffer, DType::i64, "branch", loc), {}, Space::registers);
  builder_->add_alloc(branch, Fill::none, loc);
  builder_->add(store(branch, {}, const_int(0), loc));
  std::vector<const ast::Block *> blocks{nullptr};  // the last `else`, then one block for each condition
  const ast::IfStmt *n = &s;
  for (; n; n = next_in_chain(*n)) {
    BlockBuilder under;
    under.owners = builder_->owners;
    std::optional<int64_t> known;
    {
      Building inside(builder_, under);
      Expr test = condition(n->cond, loc);
      known = as_int(test);
      auto number = const_int(static_cast<int64_t>(blocks.size()));
      if (!known) builder_->add(if_else(test, store(branch, {}, number, loc), {}, n->cond->loc));
    }
    if (known && *known) break;
    if (!next_in_chain(*n)) blocks[0] = n->no.get();
    if (known) continue;
    blocks.push_back(n->yes.get());
    Expr open = binary(BinOp::eq, load(branch, {}), const_int(0), loc);
    builder_->add(if_else(open, under.finish({}), {}, loc));
  }
  if (n) blocks[0] = n->yes.get();  // a condition that always holds
  choose_block(load(branch, {}), blocks, 0, blocks.size(), loc);
}

/// The block of the number `at`, one of `first` to `end`.
void Lowering::choose_block(const Expr &at, const std::vector<const ast::Block *> &blocks, size_t first,
                            size_t end, Loc loc) {
  if (end - first == 1) {
    if (!blocks[first]) return;
    builder_->owners.push_back(blocks[first]);
    return statements(*blocks[first]);
  }
  size_t middle = first + (end - first) / 2;
  std::set<std::string> names;
  for (size_t i = first; i < end; ++i)
    if (blocks[i]) names.merge(changed_in(*blocks[i]));
  Expr test = binary(BinOp::lt, at, const_int(static_cast<int64_t>(middle)), loc);
  branch(
      test, [&] { choose_block(at, blocks, first, middle, loc); },
      [&] { choose_block(at, blocks, middle, end, loc); }, names, loc);
}

/// Both branches of a condition go on behind it: the current environment is that of `no`.
void Lowering::meet(const Env &before, const Env &after_yes, BlockBuilder &yes, BlockBuilder &no,
                    const std::set<std::string> &names) {
  Env after_no = std::exchange(env_, before);
  for (const std::string &name : names) {
    const Binding *a = find(after_yes, name), *b = find(after_no, name);
    if (!a && !b) continue;
    bool faulty_loops = a && b && a->kind == Binding::Kind::iter && b->kind == Binding::Kind::iter;
    if (!faulty_loops) bind(name, merge(name, a, b));
  }
  auto convert = [&](BlockBuilder &at_end_of, const Env &from) {
    Building inside(builder_, at_end_of);
    convert_cells(from, env_, names);
  };
  convert(yes, after_yes);
  convert(no, after_no);
}

}  // namespace kw
