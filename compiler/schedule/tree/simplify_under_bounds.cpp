// Walks the body once, with the ranges of the loops around each place. Decides a condition where it stands,
// since only there none of these ranges is empty.
#include "schedule/tree/simplify_under_bounds.h"

#include <algorithm>
#include <utility>

#include "analysis/interval.h"
#include "analysis/nest/trip_counts.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "schedule/tree/statement_list.h"

namespace kw {

namespace {

/// Returns whether the statement is an empty sequence, or a sequence of such.
bool does_nothing(const Stmt &s) {
  const Seq *n = as<Seq>(s);
  return n && std::all_of(n->items.begin(), n->items.end(), does_nothing);
}

/// Rewrites a body while `context_` holds the ranges of the loops around the place, and the conditions that
/// hold there.
class BoundsSimplifier {
 public:
  explicit BoundsSimplifier(const std::vector<const For *> &around) {
    for (const For *n : around) context_.enter_loop(*n);
  }

  Stmt in_loop(const For &loop) {
    context_.enter_loop(loop);
    Stmt out = statement(loop.body);
    context_.leave_loop();
    return out;
  }

 private:
  /// Returns the simplified statement; the handle itself if nothing is decided.
  Stmt statement(const Stmt &s) {
    if (!s) return s;
    if (as<Check>(s)) return s;
    if (const For *n = as<For>(s)) return loop(*n, s);
    if (const If *n = as<If>(s)) return branch(*n, s);
    if (const Seq *n = as<Seq>(s)) return sequence(*n, s);
    bool repeats = as<While>(s);  // facts known before the loop need not hold for its condition
    return map_parts(
        s, [&](const Expr &e) { return repeats ? e : expression(e); },
        [&](const Stmt &below) { return statement(below); });
  }

  Stmt loop(const For &n, const Stmt &s) {
    For changed = n;
    changed.body = in_loop(n);
    changed.lo = expression(n.lo), changed.hi = expression(n.hi);
    bool none = surely_none(changed.lo, changed.hi, n.step);
    if (none || does_nothing(changed.body)) return seq({});
    bool same = changed.lo.p == n.lo.p && changed.hi.p == n.hi.p && changed.body.p == n.body.p;
    return same ? s : loop_like(s, std::move(changed));
  }

  Stmt sequence(const Seq &n, const Stmt &s) {
    std::vector<Stmt> items;
    bool same = true;
    for (const Stmt &item : n.items) {
      items.push_back(statement(item));
      same = same && items.back().p == item.p;
      // What follows never executes.
      if (always_jumps(items.back())) break;
    }
    same = same && items.size() == n.items.size();
    return same ? s : seq(std::move(items), s.loc());
  }

  Stmt branch(const If &n, const Stmt &s) {
    if (auto known = context_.truth(n.cond)) {
      if (*known) return statement(n.yes);
      return n.no ? statement(n.no) : seq({});
    }
    Expr cond = expression(n.cond);
    // Within a branch its condition is known, which may decide conditions inside.
    auto under = [&](const Stmt &body, bool holds) {
      size_t assumed = context_.assume(n.cond, holds);
      Stmt out = statement(body);
      context_.drop(assumed);
      return out;
    };
    Stmt yes = under(n.yes, true), no = under(n.no, false);
    bool same = cond.p == n.cond.p && yes.p == n.yes.p && no.p == n.no.p;
    return same ? s : if_else(cond, yes, no, s.loc());
  }

  Expr expression(const Expr &root) const {
    return rewrite(
        root,
        [&](const Select &n, const Expr &e) {
          auto known = context_.truth(n.cond);
          return known ? (*known ? n.yes : n.no) : e;
        },
        [&](const Logic &n, const Expr &e) { return side(n, e); },
        [&](const Binary &n, const Expr &e) { return operation(n, e); });
  }

  /// Returns the operand that decides if the other one does not; else the expression.
  Expr side(const Logic &n, const Expr &e) const {
    // `true and b` is b, and so is `false or b`.
    if (context_.truth(n.a) == n.is_and) return n.b;
    return context_.truth(n.b) == n.is_and ? n.a : e;
  }

  Expr operation(const Binary &n, const Expr &e) const {
    if (e.dtype() != DType::i64) return e;
    auto holds = [&](BinOp op, const Expr &a, const Expr &b) {
      return context_.truth(binary(op, a, b)) == true;
    };
    // min(a, b) is a if a <= b holds.
    if (n.op == BinOp::min || n.op == BinOp::max) {
      if (holds(BinOp::le, n.a, n.b)) return n.op == BinOp::min ? n.a : n.b;
      if (holds(BinOp::le, n.b, n.a)) return n.op == BinOp::min ? n.b : n.a;
    }
    // If 0 <= a < b, then a // b is 0 and a % b is a.
    bool divides = n.op == BinOp::floor_div || n.op == BinOp::floor_mod;
    if (divides && holds(BinOp::le, const_int(0), n.a) && holds(BinOp::lt, n.a, n.b))
      return n.op == BinOp::floor_mod ? n.a : const_int(0);
    return e;
  }

  BoundsContext context_{true};
};

}  // namespace

Stmt simplify_under_bounds(const For &loop, const std::vector<const For *> &around) {
  Stmt out = BoundsSimplifier(around).in_loop(loop);
  return does_nothing(out) ? Stmt{} : out;
}

}  // namespace kw
