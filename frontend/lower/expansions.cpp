// Lowering of const_range: one copy of the body per value, with the loop variable as a constant. A copy that
// jumps may end is a loop of one iteration.
#include "frontend/lower/expansions.h"

#include <algorithm>

#include "frontend/lower/calls.h"
#include "frontend/lower/expressions.h"
#include "frontend/lower/loops.h"
#include "frontend/lower/merges.h"
#include "frontend/lower/statements.h"
#include "ir/build.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

namespace {
// The most iterations of a loop that the front end expands. Chosen, because each iteration copies the body.
constexpr int64_t max_copies = 4096;

/// Collects the blocks below a body, at any depth.
void inner_blocks(const ast::Block &body, std::set<const ast::Block *> &out) {
  auto add = [&](const std::shared_ptr<ast::Block> &b) {
    if (b && out.insert(b.get()).second) inner_blocks(*b, out);
  };
  for (const ast::Stmt &s : body)
    std::visit(
        Overload{[&](const ast::ForStmt &n) { add(n.body); }, [&](const ast::WhileStmt &n) { add(n.body); },
                 [&](const ast::IfStmt &n) { add(n.yes), add(n.no); },
                 [&](const ast::WithStmt &n) { add(n.body); }, [](const auto &) {}},
        s.v);
}

/// Returns whether a jump of the loop with this body is among its statements.
bool has_jump(const ast::Block &body) {
  return std::any_of(body.begin(), body.end(), [](const ast::Stmt &s) {
    if (const auto *n = std::get_if<ast::IfStmt>(&s.v))
      return has_jump(*n->yes) || (n->no && has_jump(*n->no));
    const auto *scope = std::get_if<ast::WithStmt>(&s.v);
    return std::holds_alternative<ast::JumpStmt>(s.v) || (scope && has_jump(*scope->body));
  });
}
}  // namespace

/// Returns whether an expression reads a const_range variable, or a value computed from one.
bool ExpansionLowering::mentions_expanded(const ast::ExprPtr &e) const {
  bool found = false;
  if (!cx_.expanded.empty())
    for_each_name(e, [&](const std::string &name, Loc) { found |= cx_.expanded.count(name) > 0; });
  return found;
}

/// Returns the values of the variable, in order. Throws E116 if all const_ranges around a statement together
/// make too many copies.
std::vector<int64_t> ExpansionLowering::const_values(const ast::CallExpr &call) {
  std::vector<int64_t> bounds;
  for (size_t i = 0; i < call.args.size(); ++i)
    bounds.push_back(expressions().constant_int(
        call.args[i], i < 2 ? "the bound of const_range" : "the step of a loop", Code::E116));
  if (bounds.size() == 1) bounds.insert(bounds.begin(), 0);
  int64_t step = bounds.size() == 3 ? bounds[2] : 1;
  if (step == 0) refuse_zero_step(call.args[2]->loc);
  std::vector<int64_t> out;
  for (int64_t v = bounds[0]; step > 0 ? v < bounds[1] : v > bounds[1];) {
    out.push_back(v);
    if (static_cast<int64_t>(out.size()) * cx_.copies > max_copies)
      type_error(Code::E116, call.args[0]->loc,
                 cat("const_range makes more than ", max_copies, " copies of a statement"), "use range");
    // a step beyond int64 is beyond the bound too
    if (__builtin_add_overflow(v, step, &v)) break;
  }
  return out;
}

/// Lowers one copy of the body in the current block; `outside` is the environment at the loop's entry.
void ExpansionLowering::expand_copy(const ast::ForStmt &s, int64_t value, const Env &outside) {
  const auto *variable = ast::as<ast::Name>(s.target);
  Binding b;
  b.kind = Binding::Kind::iter;
  b.loc = s.target->loc;
  b.value = scalar_operand(const_int(value, s.target->loc), true, s.target->loc);
  bind(variable->id, std::move(b));
  for (const std::string &name : merges().changed_in(*s.body)) {  // each copy declares its own buffers
    auto found = cx_.env.find(name);
    if (found != cx_.env.end() && found->second.kind == Binding::Kind::tensor && !outside.count(name))
      found->second.kind = Binding::Kind::partial;
  }
  statements().statements(*s.body);
  // cells of inner blocks belong to this copy
  std::set<const ast::Block *> inner;
  inner_blocks(*s.body, inner);
  for (const ast::Block *owner : cx_.builder->owners) inner.erase(owner);
  std::erase_if(cx_.cells, [&](const Cell &c) { return inner.count(c.home) > 0; });
}

/// Expands a body with jumps. Each copy is a loop of one iteration, so `continue` leaves the copy. `break`
/// also sets `left`, which skips the later copies:
///   for once in range(1): copy 0
///   if not left: (for once in range(1): copy 1)
void ExpansionLowering::expand_with_jumps(const ast::ForStmt &s, const std::vector<int64_t> &values,
                                          std::vector<Join> &next, Loop &loop) {
  Loc loc = s.iterable->loc;
  auto unless_left = [&](const Stmt &body, bool always) {
    cx_.builder->add(
        always ? body : if_else(unary(UnOp::logical_not, load(loop.left, {}, loc), loc), body, {}, loc));
  };
  // `next[k]` joins the ends of copy k (falling through and `continue`): the types at the start of copy k + 1
  cx_.env = loop.before;
  for (size_t k = 0; k < values.size() && cx_.live; ++k) {
    Env before = cx_.env;
    std::swap(loop.next, next[k]);
    BlockBuilder copy;
    copy.owners.push_back(nullptr);  // assignments may reach the next copy, so no name is at home here
    Stmt once;
    {
      Building inside(cx_.builder, copy);
      expand_copy(s, values[k], loop.before);
      if (cx_.live) merges().leave_block(before, loop.names), merges().arrive(loop.next, loop.names);
    }
    std::vector<Buf> cells = cells_of(copy.owners);
    std::erase_if(cx_.cells,
                  [&](const Cell &c) { return std::find(cells.begin(), cells.end(), c.buf) != cells.end(); });
    std::swap(loop.next, next[k]);
    Sym iter = make_sym(SymKind::iter, DType::i64, "once", loc);
    once = for_loop(
        {iter, const_int(0, loc), const_int(1, loc), 1, ForKind::serial, Hint::none, {}, copy.finish(cells)},
        loc);
    // before the first copy nothing can have left the loop
    unless_left(once, !loop.breaks || k == 0);
    cx_.live = next[k].arrived;
    if (cx_.live) cx_.env = next[k].env;
  }
  if (!cx_.live) return;
  BlockBuilder end;
  {
    Building inside(cx_.builder, end);
    merges().arrive(loop.exit, loop.names);
  }
  if (!end.empty()) unless_left(end.finish({}), !loop.breaks);
}

/// Lowers a const_range. Without jumps the copies follow each other in the current block. With jumps their
/// types are determined as those of a loop are.
void ExpansionLowering::const_range(const ast::ForStmt &s) {
  const auto &call = *ast::as<ast::CallExpr>(s.iterable);
  calls().warn_callee(call.callee);
  const std::string &variable = ast::as<ast::Name>(s.target)->id;
  if (auto found = cx_.env.find(variable);
      found != cx_.env.end() && found->second.kind == Binding::Kind::tensor) {
    cx_.rules.excuse(variable);
    type_error(Code::E212, s.target->loc,
               cat("'", variable, "' names a tensor and cannot be a loop variable"), "use another name");
  }
  std::vector<int64_t> values = const_values(call);
  // also counts the copies of statements inside several const_ranges, whose numbers multiply
  int64_t outer =
      std::exchange(cx_.copies, cx_.copies * std::max<int64_t>(1, static_cast<int64_t>(values.size())));
  cx_.expanded.insert(variable);
  if (!has_jump(*s.body)) {
    cx_.builder->owners.push_back(s.body.get());
    Env before = cx_.env;
    for (int64_t value : values) expand_copy(s, value, before);
  } else if (!values.empty()) {
    Loop loop = loops().open_loop(*s.body, true);
    std::vector<Join> next(values.size());
    std::vector<Join *> joins{&loop.exit};
    for (Join &join : next) joins.push_back(&join);
    loop.next = {};
    BlockBuilder copies;
    loops().run_to_fixpoint(loop, joins, [&] {
      copies = {};
      copies.owners.push_back(s.body.get());
      Building inside(cx_.builder, copies);
      expand_with_jumps(s, values, next, loop);
    });
    if (loop.breaks) {
      cx_.builder->add_alloc(loop.left, Fill::none, s.iterable->loc);
      cx_.builder->add(store(loop.left, {}, const_bool(false, s.iterable->loc), s.iterable->loc));
    }
    cx_.builder->add(copies.finish(cells_of(copies.owners)));
    cx_.env = loop.exit.env;
    for (const std::string &name : loop.names)
      if (!cx_.env.count(name)) bind(name, {}).kind = Binding::Kind::partial;
  }
  cx_.copies = outer;
  loops().leave_variables(s);
}

}  // namespace kw
