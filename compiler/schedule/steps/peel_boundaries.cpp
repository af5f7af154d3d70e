// Solves each condition for the iterations where its value changes, and peels those near an end of the range.
// Only the part between the boundaries is peeled further, in its inner loops.
#include "schedule/steps/steps.h"

#include <algorithm>

#include "analysis/affine.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Iterations to peel at the ends of a loop.
struct Boundaries {
  int64_t first = 0, last = 0;
};

/// Examines all conditions in the body of a loop that guard accesses or stand in subscripts.
class BoundarySearch {
 public:
  explicit BoundarySearch(const For &loop) : loop_(loop) {}

  /// Returns the iterations to peel at both ends, the most that any condition asks for.
  Boundaries run() {
    walk(loop_.body, [&](const For &n, const Stmt &) {
      inner_.push_back(&n);
      subscript(n.lo), subscript(n.hi);
    });
    walk(
        loop_.body,
        [&](const If &n, const Stmt &) {
          if (touches_memory(n.yes) || (n.no && touches_memory(n.no))) condition(n.cond);
        },
        [&](const Select &n, const Expr &) {
          if (reads_elements(n.yes) || reads_elements(n.no)) condition(n.cond);
        },
        [&](const Load &n, const Expr &) { subscripts(n.index); },
        [&](const Store &n, const Stmt &) { subscripts(n.index); });
    return found_;
  }

 private:
  /// Most iterations that are peeled at one end. Chosen: the taps of common windows reach less far.
  static constexpr int64_t most_iterations = 8;

  static bool touches_memory(const Stmt &s) {
    bool found = false;
    walk(
        s, [&](const Load &n, const Expr &) { found |= !n.index.empty(); },
        [&](const Store &n, const Stmt &) { found |= !n.index.empty(); });
    return found;
  }

  void subscripts(const std::vector<Expr> &index) {
    for (const Expr &e : index) subscript(e);
  }
  void subscript(const Expr &e) {
    walk(
        e, [&](const Select &n, const Expr &) { condition(n.cond); },
        [&](const Binary &n, const Expr &) {
          if (n.op == BinOp::min || n.op == BinOp::max) changes(n.a, n.b, 0, true);
          if (n.op == BinOp::floor_mod) changes(n.a, const_int(0), 0), changes(n.b, n.a, 1);
        });
  }
  void condition(const Expr &cond) {
    walk(cond, [&](const Binary &n, const Expr &) {
      if (n.a.dtype() != DType::i64) return;
      if (n.op == BinOp::lt) changes(n.b, n.a, 1);
      if (n.op == BinOp::le) changes(n.b, n.a, 0);
      if (n.op == BinOp::eq || n.op == BinOp::ne) changes(n.a, n.b, 0), changes(n.a, n.b, 1);
    });
  }

  /// Notes where `big - small >= by` changes, for the first and last values of inner iterators with a known
  /// range. `even`: if both sides are equal, either answer will do.
  void changes(const Expr &big, const Expr &small, int64_t by, bool even = false) {
    auto a = affine_of(big), b = affine_of(small);
    auto form = a && b ? add_scaled(*a, *b, -1) : std::nullopt;
    if (!form) return;
    form->constant -= by;
    each_end(*form, even);
  }
  void each_end(const Affine &form, bool even) {
    for (size_t i = 0; i < form.terms.size(); ++i) {
      const Ref *r = as<Ref>(form.terms[i].atom);
      auto inner =
          std::find_if(inner_.begin(), inner_.end(), [&](const For *n) { return r && n->iter == r->sym; });
      if (inner == inner_.end()) continue;
      auto trips = constant_trips(**inner);
      auto lo = as_int((*inner)->lo);
      if (!trips || !lo || *trips == 0 || *trips > most_iterations || (*inner)->step != 1) return;
      for (int64_t at : {*lo, *lo + static_cast<int64_t>(*trips) - 1})
        if (auto end = substitute(form, i, Affine{{}, at})) each_end(*end, even);
      return;
    }
    change(form, even);
  }

  /// Notes where the sign of a form changes. A form that grows with the iterator is negative before that
  /// iteration, a falling form from it on.
  void change(const Affine &form, bool even) {
    int64_t factor = 0;
    size_t term = 0;
    for (size_t i = 0; i < form.terms.size(); ++i)
      if (const Ref *r = as<Ref>(form.terms[i].atom); r && r->sym == loop_.iter)
        factor = form.terms[i].coefficient, term = i;
    if (factor == 0) return;
    auto at = [&](const Expr &value) -> std::optional<int64_t> {
      auto v = affine_of(value);
      auto out = v ? substitute(form, term, *v) : std::nullopt;
      return out && out->is_constant() ? std::optional(out->constant) : std::nullopt;
    };
    if (auto value = at(loop_.lo)) take(found_.first, *value - (even && factor < 0 ? 1 : 0), factor);
    if (auto value = at(sub(loop_.hi, const_int(1))))
      take(found_.last, *value - (even && factor > 0 ? 1 : 0), -factor);
  }
  /// Widens a boundary for a form that has this value at one end of the loop and changes by `factor` with
  /// each iteration from there.
  static void take(int64_t &border, int64_t value, int64_t factor) {
    bool changes = factor > 0 ? value < 0 : value >= 0;
    // A value beyond 8 * 2^15 changes its sign within 8 iterations only if `factor` exceeds 2^15. Chosen:
    // such factors are not looked at.
    if (!changes || value > most_iterations * (1 << 15) || value < -most_iterations * (1 << 15)) return;
    int64_t size = factor > 0 ? factor : -factor;
    // The iterations until the sign changes, rounded up.
    int64_t steps = factor > 0 ? (-value + size - 1) / size : value / size + 1;
    if (steps <= most_iterations) border = std::max(border, steps);
  }

  const For &loop_;
  std::vector<const For *> inner_;
  Boundaries found_;
};

bool may_be_cut(const NestLoop &loop) {
  // Chosen: a loop of fewer iterations is unrolled, or not worth three copies of its body.
  constexpr uint64_t few = 16;
  if (!loop.loop || loop.loop->step != 1 || loop.loop->kind != ForKind::serial) return false;
  if (loop.loop->hint == Hint::serial || loop.loop->hint == Hint::unroll) return false;
  auto trips = constant_trips(*loop.loop);
  return !trips || *trips > few;
}

bool peel(LoopNest &nest, uint32_t loop, int64_t count, bool last) {
  return nest.try_apply({Peel{loop, count, last}, "conditions change near this end"}).ok();
}

/// Peels loops from outside inwards. Continues only in the part between the boundaries, which runs longest.
class BoundaryPeeling {
 public:
  explicit BoundaryPeeling(LoopNest &nest) : nest_(nest) {}

  bool run() {
    all(NestLoop::no_loop);
    return cut_;
  }

 private:
  // Most statements. Peeling makes three copies of a body; twice the statements of the nest must stay within
  // this limit. Chosen, as the limit of run_schedule.
  static constexpr size_t most_statements = 100;

  /// Visits the loops in `around` from the last to the first, so that the loops before keep their numbers.
  void all(uint32_t around) {
    for (size_t i = loops_in(nest_.nest(), around).size(); i-- > 0;) one(around, i);
  }

  void one(uint32_t around, size_t place) {
    auto loops = [&] { return loops_in(nest_.nest(), around); };
    const NestLoop loop = nest_.nest().loops[loops()[place]];
    if (!loop.loop) return;
    if (may_be_cut(loop) && 2 * nest_.nest().statements.size() <= most_statements) {
      Boundaries found = BoundarySearch(*loop.loop).run();
      // The last iterations are peeled first: the main part then keeps its place.
      if (found.last > 0 && peel(nest_, loops()[place], found.last, true)) cut_ = true;
      size_t before = loops().size();
      if (found.first > 0 && place < before && peel(nest_, loops()[place], found.first, false)) {
        cut_ = true;
        place += loops().size() > before;  // an empty piece is dropped
      }
    }
    if (place < loops().size()) all(loops()[place]);
  }

  LoopNest &nest_;
  bool cut_ = false;
};

}  // namespace

bool peel_boundaries(LoopNest &nest) { return BoundaryPeeling(nest).run(); }

}  // namespace kw
