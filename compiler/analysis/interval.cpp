// Eliminates iterators and min, max, // and % from a goal, innermost first.
#include "analysis/interval.h"

#include <algorithm>

#include "analysis/bounds_system.h"
#include "analysis/solve.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/loops.h"
#include "ir/match.h"

namespace kw {

namespace {

// Substitutions of iterators that one proof may try. Chosen: beyond this the search gives up and the check
// stays.
constexpr int max_steps = 200;

}  // namespace

std::vector<Expr> Proof::smallness() const {
  std::vector<Expr> out;
  for (const Expr &e : small) {
    out.push_back(binary(BinOp::le, const_int(-max_extent), e));
    out.push_back(binary(BinOp::le, e, const_int(max_extent)));
  }
  return out;
}

std::vector<Expr> Proof::facts() const {
  std::vector<Expr> out = smallness();
  if (fact) out.insert(out.begin(), fact);
  return out;
}

/// One search for a proof. Replaces iterators by the end of their range that minimizes the goal:
///     for i in range(0, n): n - 1 - i >= 0   →   i becomes n - 1   →   0 >= 0, proved
struct BoundsContext::Search {
  const BoundsContext &context;
  ValueRanges ranges;
  int steps = 0;              ///< calls of run() so far
  bool exact = true;          ///< every replacement so far is attained by some iteration
  std::vector<Expr> small{};  ///< see Proof

  /// Returns the form that replaces an iterator or a nonlinear atom; nothing if it may wrap.
  std::optional<Affine> form_of(const Expr &e) {
    auto form = affine_of(e);
    return form && ranges.is_exact(*form, &small) ? form : std::nullopt;
  }
  bool range_of(const For &loop, Affine &low, Affine &high) {
    return ValueRanges::ends_of(loop, [&](const Expr &e) { return form_of(e); }, low, high);
  }

  Proof run(const Affine &goal) {
    if (++steps > max_steps) return {};
    if (by_constraint(goal)) return {Proof::Kind::proved, {}, goal};
    for (size_t i = 0; i < goal.terms.size(); ++i)
      // atoms that are not linear go first, because their operands may hold iterators
      if (!as<Ref>(goal.terms[i].atom) && !is_call_constant(goal.terms[i].atom)) return split(goal, i);
    // innermost first: the bounds of a loop may depend on the iterators around it, never on those inside
    for (size_t l = context.facts_.loops.size(); l-- > 0;) {
      const For &loop = *context.facts_.loops[l];
      for (size_t i = 0; i < goal.terms.size(); ++i) {
        const Ref *r = as<Ref>(goal.terms[i].atom);
        if (r && r->sym == loop.iter) return end_of_range(goal, i, loop);
      }
    }
    return decide(goal);
  }

  Proof end_of_range(const Affine &goal, size_t i, const For &loop) {
    Affine low, high;
    if (!range_of(loop, low, high)) return {};
    // other steps may miss the end of the range, so that the worst case need not occur
    if (loop.step != 1 && loop.step != -1) exact = false;
    auto next = substitute(goal, i, goal.terms[i].coefficient > 0 ? low : high);
    return next ? run(*next) : Proof{};
  }

  /// Returns whether one guard alone implies the goal: goal - guard is nonnegative.
  bool by_constraint(const Affine &goal) const {
    return std::any_of(context.facts_.constraints.begin(), context.facts_.constraints.end(),
                       [&](const Affine &c) {
                         auto rest = add_scaled(goal, c, -1);
                         return rest && ranges.surely_nonnegative(*rest);
                       });
  }

  Proof decide(const Affine &goal) {
    if (ranges.surely_nonnegative(goal)) return {Proof::Kind::proved, {}, goal};
    // if all terms are negative multiples of extents, the goal is greatest for extents of 1
    int64_t most = goal.constant;
    bool bounded = true;
    for (const AffineTerm &t : goal.terms) {
      if (!is_call_constant(t.atom)) return {};
      bounded = bounded && is_extent(t.atom) && t.coefficient < 0;
      most += t.coefficient;
    }
    if (bounded && most < 0 && exact) return {Proof::Kind::refuted, {}, goal};
    if (goal.is_constant()) return {};
    for (size_t i = 0; i < goal.terms.size(); ++i) {
      const Binary *n = as<Binary>(goal.terms[i].atom);
      if (!n || (n->op != BinOp::min && n->op != BinOp::max)) continue;
      std::vector<Expr> before = small;
      if (Proof p = split(goal, i); p.kind == Proof::Kind::proved) return p;
      small = std::move(before);
    }
    Affine low, high;  // goal = high - low, both with positive coefficients only
    for (const AffineTerm &t : goal.terms)
      (t.coefficient < 0 ? low : high)
          .terms.push_back({t.atom, t.coefficient < 0 ? -t.coefficient : t.coefficient});
    (goal.constant < 0 ? low : high).constant = goal.constant < 0 ? -goal.constant : goal.constant;
    return {Proof::Kind::under_fact, binary(BinOp::le, to_expr(low), to_expr(high)), goal};
  }

  /// Proves both goals.
  Proof both(const std::optional<Affine> &a, const std::optional<Affine> &b) {
    exact = false;
    Proof x = a ? run(*a) : Proof{}, y = b ? run(*b) : Proof{};
    if (x.kind == Proof::Kind::proved) return y;
    if (y.kind == Proof::Kind::proved) return x;
    bool facts = x.kind == Proof::Kind::under_fact && y.kind == Proof::Kind::under_fact;
    return facts ? Proof{Proof::Kind::under_fact, logic(true, x.fact, y.fact), x.worst} : Proof{};
  }
  /// Proves each goal under the condition by which the select chooses it.
  Proof chosen(const Select &n, const std::optional<Affine> &yes, const std::optional<Affine> &no) {
    auto where = [&](bool holds, const std::optional<Affine> &goal) {
      BoundsContext here = context;
      here.assume(n.cond, holds);
      Search inside{here, here.ranges(), steps, false, small};
      Proof out = goal ? inside.run(*goal) : Proof{};
      steps = inside.steps, small = inside.small;
      return out;
    };
    exact = false;
    Proof x = where(true, yes);
    if (x.kind == Proof::Kind::unknown) return x;
    Proof y = where(false, no);
    if (x.kind == Proof::Kind::proved) return y;
    return y.kind == Proof::Kind::proved ? x : both(yes, no);
  }
  /// Proves one of two goals, which suffices.
  Proof either(const Affine &goal, size_t i, const Expr &a, const Expr &b) {
    exact = false;
    std::vector<Expr> before = small;
    Proof x = one(replaced(goal, i, a));
    if (x.kind == Proof::Kind::proved) return x;
    std::vector<Expr> for_x = std::exchange(small, before);
    Proof y = one(replaced(goal, i, b));
    if (y.kind == Proof::Kind::proved || x.kind != Proof::Kind::under_fact) return y;
    small = for_x;
    return x;
  }

  std::optional<Affine> replaced(const Affine &goal, size_t i, const Expr &value) {
    auto form = form_of(value);
    return form ? substitute(goal, i, *form) : std::nullopt;
  }

  /// Replaces the opaque atom of term i by something that bounds it from the side that matters.
  Proof split(const Affine &goal, size_t i) {
    const Expr &atom = goal.terms[i].atom;
    bool want_low = goal.terms[i].coefficient > 0;
    auto with = [&](const Expr &value) { return replaced(goal, i, value); };
    if (const Select *n = as<Select>(atom)) return chosen(*n, with(n->yes), with(n->no));
    const Binary *n = as<Binary>(atom);
    if (!n) return {};
    if (n->op == BinOp::min || n->op == BinOp::max) {
      bool each_bounds = want_low == (n->op == BinOp::max);
      return each_bounds ? either(goal, i, n->a, n->b) : both(with(n->a), with(n->b));
    }
    exact = false;
    if (n->op == BinOp::floor_mod) return remainder(goal, i, *n);
    auto divisor = as_int(n->b);
    if (!divisor || *divisor <= 0 || *divisor > max_divisor) return {};
    if (n->op == BinOp::floor_div) return division(goal, i, *n, *divisor);
    return {};
  }

  Proof one(const std::optional<Affine> &next) { return next ? run(*next) : Proof{}; }

  /// Replaces x % d, which is in [0, d - 1] for a positive d and any x.
  Proof remainder(const Affine &goal, size_t i, const Binary &n) {
    auto last = ranges.exact_form(n.b);
    if (!last || __builtin_sub_overflow(last->constant, 1, &last->constant)) return {};
    if (!ranges.surely_nonnegative(*last)) return {};
    return one(substitute(goal, i, goal.terms[i].coefficient > 0 ? Affine{} : *last));
  }

  /// Bounds x, then divides, because x // d is monotone in x.
  Proof division(const Affine &goal, size_t i, const Binary &n, int64_t divisor) {
    auto x = form_of(n.a);
    if (!x) return {};
    bool want_low = goal.terms[i].coefficient > 0;
    Expr end = ranges.end_value(*x, want_low, [&](const Expr &e) { return form_of(e); });
    if (!end || !form_of(end)) return {};  // the quotient is computed from `end`, which may wrap
    auto form = affine_of(binary(BinOp::floor_div, end, const_int(divisor)));
    return one(form ? substitute(goal, i, *form) : std::nullopt);
  }
};

Proof BoundsContext::nonnegative(const Affine &goal) const {
  Proof found = searched(goal);
  // the search comes first because it can name a fact; elimination can only prove
  bool open = found.kind == Proof::Kind::under_fact || found.kind == Proof::Kind::unknown;
  if (open && follows_by_elimination(facts_, goal)) return {Proof::Kind::proved, {}, goal};
  return found.fact ? least_fact(goal, std::move(found)) : found;
}

Proof BoundsContext::searched(const Affine &goal) const {
  Search search{*this, ranges()};
  Proof found = search.run(goal);
  // the proof assumes small scalars, which the call must confirm
  if (found.kind == Proof::Kind::proved && !search.small.empty()) found.kind = Proof::Kind::under_fact;
  if (found.kind == Proof::Kind::under_fact) found.small = std::move(search.small);
  return found;
}

/// Returns the weakest fact. A guard may require less than the last iterations of the loops. Under `i + 1 <
/// n`, b[i + 1] needs m >= n, not m >= n + 1.
Proof BoundsContext::least_fact(const Affine &goal, Proof found) const {
  auto varying = [](const Affine &form) {
    return std::count_if(form.terms.begin(), form.terms.end(),
                         [](const AffineTerm &t) { return !is_call_constant(t.atom); });
  };
  for (const Affine &c : facts_.constraints) {
    auto rest = add_scaled(goal, c, -1);
    if (!rest || varying(*rest) >= varying(goal)) continue;
    Proof p = searched(*rest);
    if (!p.fact || !as<Binary>(p.fact)) continue;
    auto spared = add_scaled(p.worst, found.worst, -1);
    if (spared && ranges().surely_nonnegative(*spared)) found = std::move(p);
  }
  return found;
}

/// Returns whether `big - small >= by` is proved.
bool BoundsContext::exceeds(const Affine &big, const Affine &small, int64_t by) const {
  auto difference = add_scaled(big, small, -1);
  if (!difference) return false;
  difference->constant -= by;
  return nonnegative(*difference).kind == Proof::Kind::proved;
}

std::optional<bool> BoundsContext::truth(const Expr &cond) const {
  if (const Unary *n = as<Unary>(cond); n && n->op == UnOp::logical_not) {
    auto a = truth(n->a);
    return a ? std::optional(!*a) : a;
  }
  if (const Logic *n = as<Logic>(cond)) {
    auto a = truth(n->a);
    if (a) return *a == n->is_and ? truth(n->b) : a;
    auto b = truth(n->b);
    return b && *b != n->is_and ? b : std::nullopt;
  }
  const Binary *n = as<Binary>(cond);
  if (!n || n->a.dtype() != DType::i64) return std::nullopt;
  auto a = ranges().exact_form(n->a), b = ranges().exact_form(n->b);
  if (!a || !b) return std::nullopt;
  bool equality = n->op == BinOp::eq || n->op == BinOp::ne;
  if (equality && (exceeds(*a, *b, 1) || exceeds(*b, *a, 1))) return n->op == BinOp::ne;
  if (equality && exceeds(*a, *b, 0) && exceeds(*b, *a, 0)) return n->op == BinOp::eq;
  int64_t gap = n->op == BinOp::lt ? 1 : 0;
  if (n->op != BinOp::lt && n->op != BinOp::le) return std::nullopt;
  if (exceeds(*b, *a, gap)) return true;
  return exceeds(*a, *b, 1 - gap) ? std::optional(false) : std::nullopt;
}

size_t BoundsContext::assume(const Expr &cond, bool holds) {
  size_t before = facts_.constraints.size();
  if (const Logic *n = as<Logic>(cond); n && n->is_and == holds) {
    assume(n->a, holds);
    assume(n->b, holds);
  }
  if (const Unary *n = as<Unary>(cond); n && n->op == UnOp::logical_not) assume(n->a, !holds);
  const Binary *n = as<Binary>(cond);
  if (n && n->a.dtype() == DType::i64) {
    auto a = ranges().exact_form(n->a), b = ranges().exact_form(n->b);
    // a < b   →   b - a - 1 >= 0
    auto push = [&](const std::optional<Affine> &big, const std::optional<Affine> &small, int64_t gap) {
      if (!big || !small) return;
      auto difference = add_scaled(*big, *small, -1);
      if (!difference) return;
      difference->constant -= gap;
      facts_.constraints.push_back(*difference);
    };
    if (n->op == BinOp::lt) holds ? push(b, a, 1) : push(a, b, 0);
    if (n->op == BinOp::le) holds ? push(b, a, 0) : push(a, b, 1);
    bool equal = n->op == BinOp::eq || n->op == BinOp::ne, same = (n->op == BinOp::eq) == holds;
    if (equal && same) push(a, b, 0), push(b, a, 0);
    if (equal && !same) {  // one side is greater where the other cannot be
      if (a && b && exceeds(*a, *b, 0))
        push(a, b, 1);
      else if (a && b && exceeds(*b, *a, 0))
        push(b, a, 1);
    }
  }
  return facts_.constraints.size() - before;
}

size_t BoundsContext::assume_behind(const If &branch) {
  if (always_jumps(branch.yes)) return assume(branch.cond, false);
  return branch.no && always_jumps(branch.no) ? assume(branch.cond, true) : 0;
}

bool BoundsContext::surely_runs() const {
  return std::all_of(facts_.loops.begin(), facts_.loops.end(), [](const For *loop) {
    // a sum of extents with positive factors is least when all extents are 1
    auto trips = loop->step == 1 && as_int(loop->lo) == 0 ? affine_of(loop->hi) : std::nullopt;
    if (!trips) return false;
    int64_t least = trips->constant;  // for extents of 1
    for (const AffineTerm &t : trips->terms) {
      if (!is_extent(t.atom) || t.coefficient < 0) return false;
      least += t.coefficient;
    }
    return least > 0;
  });
}

}  // namespace kw
