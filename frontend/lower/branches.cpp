// Both sides of a branch are lowered from the same environment; MergeLowering merges the two environments
// after it.
#include "frontend/lower/branches.h"

#include <algorithm>

#include "frontend/lower/expressions.h"
#include "frontend/lower/merges.h"
#include "frontend/lower/statements.h"
#include "ir/match.h"

namespace kw {

/// Returns the truth of a condition. A faulty condition counts as true, so that both sides are checked for
/// further errors.
Expr BranchLowering::condition(const ast::ExprPtr &e, Loc loc) {
  Operand cond = expressions().expression(e);
  if (cond.kind == Operand::Kind::poisoned) leave_out(), cond = scalar_operand(const_bool(true), true, loc);
  return truth_of(cond);
}

/// Lowers a branch. If the condition is known, the taken block becomes part of the current block, which then
/// declares its cells.
void BranchLowering::if_statement(const ast::IfStmt &s, Loc loc) {
  if (is_long_chain(s)) return long_chain(s, loc);
  Expr test = condition(s.cond, loc);
  if (auto known = as_int(test)) {  // decided at compile time: the dead branch is not lowered
    const ast::Block *taken = *known ? s.yes.get() : s.no.get();
    if (!taken) return;
    cx_.builder->owners.push_back(taken);
    return statements().statements(*taken);
  }
  // only the names that a side changes need merging
  std::set<std::string> names = merges().changed_in(*s.yes);
  if (s.no) names.merge(merges().changed_in(*s.no));
  auto block = [&](const ast::Block *b) {
    if (!b) return;
    cx_.builder->owners.push_back(b);
    statements().statements(*b);
  };
  branch(test, [&] { block(s.yes.get()); }, [&] { block(s.no.get()); }, names, loc);
}

/// Lowers both sides of a condition, which assign `names`, and merges the names where the sides meet.
void BranchLowering::branch(const Expr &test, const std::function<void()> &lower_yes,
                            const std::function<void()> &lower_no, const std::set<std::string> &names,
                            Loc loc) {
  Env before = cx_.env;
  BlockBuilder yes, no;
  // each side gets a builder of its own, so that conversions can still be added at its end
  auto lower_way = [&](BlockBuilder &to, const std::function<void()> &lower) {
    Building inside(cx_.builder, to);
    lower();
  };
  lower_way(yes, lower_yes);
  // the end of a side is reached unless a jump ended it
  bool yes_ends = std::exchange(cx_.live, true);
  Env after_yes = std::exchange(cx_.env, before);
  lower_way(no, lower_no);
  // names meet only if both sides reach the end; if one side jumps, the types of the other side remain
  if (yes_ends && cx_.live) {
    merges().meet(before, after_yes, yes, no, names);
  } else {
    if (yes_ends) cx_.env = std::move(after_yes);
    merges().leave_block(before, names);
    cx_.live = yes_ends || cx_.live;
  }
  Stmt otherwise = no.finish(cells_of(no.owners));
  const Seq *list = as<Seq>(otherwise);
  bool empty = list && list->items.empty();
  cx_.builder->add(if_else(test, yes.finish(cells_of(yes.owners)), empty ? Stmt{} : otherwise, loc));
}

namespace {
/// Returns the `elif` of a chain, or null.
const ast::IfStmt *next_in_chain(const ast::IfStmt &s) {
  return s.no && s.no->size() == 1 ? std::get_if<ast::IfStmt>(&s.no->front().v) : nullptr;
}
}  // namespace

/// Returns whether a chain is too long to nest: the depth of the IR is limited.
bool BranchLowering::is_long_chain(const ast::IfStmt &s) {
  constexpr size_t most = 100;  // chosen: the limit of nested blocks, a tenth of the IR's limit
  size_t length = 0;
  for (const ast::IfStmt *n = &s; n && length <= most; n = next_in_chain(*n)) ++length;
  return length > most;
}

/// Finds the first condition that holds by testing in order, then selects its branch by bisection:
///
///   if c0: A                        branch = 0
///   elif c1: B             →        if c0: branch = 1
///   else: C                         if branch == 0: (if c1: branch = 2)
///                                   if branch < 1: C  else: (if branch < 2: A else: B)
void BranchLowering::long_chain(const ast::IfStmt &s, Loc loc) {
  Buf branch = make_buf(make_sym(SymKind::buffer, DType::i64, "branch", loc), {}, Space::registers);
  cx_.builder->add_alloc(branch, Fill::none, loc);
  cx_.builder->add(store(branch, {}, const_int(0), loc));
  std::vector<const ast::Block *> blocks{nullptr};  // the last `else`, then one block for each condition
  const ast::IfStmt *n = &s;
  for (; n; n = next_in_chain(*n)) {
    // a later condition is evaluated only if no earlier condition held, as in the chain
    BlockBuilder under;
    under.owners = cx_.builder->owners;
    std::optional<int64_t> known;
    {
      Building inside(cx_.builder, under);
      Expr test = condition(n->cond, loc);
      known = as_int(test);
      auto number = const_int(static_cast<int64_t>(blocks.size()));
      if (!known) cx_.builder->add(if_else(test, store(branch, {}, number, loc), {}, n->cond->loc));
    }
    // the branches after a condition that always holds are dead
    if (known && *known) break;
    if (!next_in_chain(*n)) blocks[0] = n->no.get();
    if (known) continue;
    blocks.push_back(n->yes.get());
    Expr open = binary(BinOp::eq, load(branch, {}), const_int(0), loc);
    cx_.builder->add(if_else(open, under.finish({}), {}, loc));
  }
  if (n) blocks[0] = n->yes.get();  // a condition that always holds
  choose_block(load(branch, {}), blocks, 0, blocks.size(), loc);
}

/// Lowers the block with number `at`, one of `first` to `end`.
void BranchLowering::choose_block(const Expr &at, const std::vector<const ast::Block *> &blocks, size_t first,
                                  size_t end, Loc loc) {
  if (end - first == 1) {
    if (!blocks[first]) return;
    cx_.builder->owners.push_back(blocks[first]);
    return statements().statements(*blocks[first]);
  }
  // bisection keeps the depth of the IR at the logarithm of the number of branches
  size_t middle = first + (end - first) / 2;
  std::set<std::string> names;
  for (size_t i = first; i < end; ++i)
    if (blocks[i]) names.merge(merges().changed_in(*blocks[i]));
  Expr test = binary(BinOp::lt, at, const_int(static_cast<int64_t>(middle)), loc);
  branch(
      test, [&] { choose_block(at, blocks, first, middle, loc); },
      [&] { choose_block(at, blocks, middle, end, loc); }, names, loc);
}

}  // namespace kw
