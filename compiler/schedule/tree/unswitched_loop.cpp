// Comparisons with the iterator on one side hold in an interval.
#include "schedule/tree/unswitched_loop.h"

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/tree/accesses.h"
#include "schedule/tree/condition_parts.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// Returns a condition on the first and the last iteration that a part of a condition holds in all of them;
/// null if there is none.
Expr in_all_iterations(const Expr &part, const Sym &iter, const Expr &first, const Expr &last) {
  if (has_load(part)) return {};
  if (!mentions(part, iter)) return part;
  const Binary *n = as<Binary>(part);
  if (!n || (n->op != BinOp::lt && n->op != BinOp::le)) return {};
  if (is_iterator(n->a, iter) && !mentions(n->b, iter)) return binary(n->op, last, n->b);
  return is_iterator(n->b, iter) && !mentions(n->a, iter) ? binary(n->op, n->a, first) : Expr();
}

/// Returns whether a loop has all its copies, and the condition holds in each; null if nothing tells.
Expr holds_in_all(const For &loop) {
  Expr last = add(loop.lo, const_int(static_cast<int64_t>(loop.how.unroll) - 1));
  Expr out = binary(BinOp::eq, sub(loop.hi, loop.lo), const_int(loop.how.unroll));
  for (const auto &[part, holds] : condition_parts(as<If>(loop.body)->cond, true)) {
    Expr all = in_all_iterations(part, loop.iter, loop.lo, last);
    if (!all) return {};
    out = logic(true, out, all);
  }
  return out;
}

}  // namespace

bool can_unswitch(const For &loop) {
  return as<If>(loop.body) && loop.kind == ForKind::unroll && loop.step == 1 && holds_in_all(loop);
}

Stmt unswitched_loop(const For &loop, const Loc &loc) {
  For all = loop;
  all.hi = add(loop.lo, const_int(loop.how.unroll)), all.body = as<If>(loop.body)->yes;
  For some = *as<For>(copy_of(for_loop(loop, loc)));
  some.kind = ForKind::serial, some.how.unroll = 0;
  return if_else(holds_in_all(loop), for_loop(std::move(all), loc), for_loop(std::move(some), loc), loc);
}

}  // namespace kw
