// Checks the statements of the loop first, since dependences take longer.
#include "schedule/directives/legal_kinds.h"

#include <algorithm>

#include "analysis/gpu/combined_values.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/privatize.h"
#include "analysis/nest/value_bounds.h"
#include "analysis/perfect_reduction.h"
#include "analysis/vector/vectorization.h"
#include "ir/accumulation.h"
#include "ir/arg_reduction.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/launches/private_bins.h"
#include "schedule/launches/rfactor.h"
#include "schedule/launches/scans.h"

namespace kw {

namespace {

Verdict inapplicable(std::string_view why, Loc at = {}) {
  Verdict out{Reason::inapplicable};
  out.why = why, out.jump = at;
  return out;
}

/// Returns the loops around a place, outermost first; null for a while.
std::vector<const For *> loops_of(const NestScope &scope) {
  std::vector<const For *> out;
  for (const ScopeItem &i : scope)
    if (i.is_loop()) out.push_back(i.loop);
  return out;
}

bool is_conditional(const NestScope &scope) {
  return std::any_of(scope.begin(), scope.end(), [](const ScopeItem &i) { return i.is_condition(); });
}

/// Returns whether the first iterations of all blocks stay within 64 bits.
bool has_bounded_blocks(const Func &f, const For &n, const NestScope &scope) {
  // Chosen: with bounds of 2^60 at most, blocks of 2^30 such steps (preconditions) stay within 64 bits by
  // far.
  constexpr int64_t most_step = 1 << 10;
  ValueBounds limits(f, scope);
  bool up = n.step > 0;
  return step_size(n) < most_step && limits.bounded(n.lo, !up) && limits.bounded(n.hi, up);
}

/// Returns whether the loop stores to memory at places that may differ between lanes. If two lanes accumulate
/// into one element, as by i // 2, one of the terms would be lost.
bool stores_apart(const For &n, VectorizationAnalysis &view) {
  bool found = false;
  walk(n.body, [&](const Store &s, const Stmt &) {
    if (s.buf->space == Space::registers) return;
    for (const Expr &i : s.index) found |= view.is_divergent(i);
  });
  return found;
}

/// Returns whether the loop holds a reduction of 16-bit floats. Back ends without these types compute in
/// float32, with conversions around (transform/lowering/legalise_types). Such a reduction has no vector form.
bool reduces_halves(const For &n, const VectorizationAnalysis &view) {
  bool found = false;
  walk(n.body, [&](const Store &s, const Stmt &) {
    bool is_outer = s.buf->space == Space::registers && !view.is_own(s.buf);
    found |= is_outer && is_half(s.buf->dtype);
  });
  return found;
}

/// Returns whether this loop's sums in the order `lanes` run over this loop alone, or also over loops around
/// it that do nothing else.
bool has_sums_of_its_own(const For &n, const std::vector<const For *> &around) {
  bool fine = true;
  std::vector<const For *> band, outside = around;
  outside.push_back(&n);
  for_each_store(n.body, [&](const Stmt &, const Store &store, const std::vector<const For *> &inner) {
    if (store.order != Order::lanes) return;
    std::vector<const For *> all = outside;
    all.insert(all.end(), inner.begin(), inner.end());
    std::vector<const For *> theirs = band_of(store, all);
    fine = fine && theirs.front() == &n && (band.empty() || theirs == band);
    band = std::move(theirs);
  });
  if (!fine || band.size() < 2) return fine;
  auto outer = static_cast<std::ptrdiff_t>(band.size()) - 1;
  return is_perfect_reduction(band, {around.begin(), around.end() - outer});
}

/// Returns whether the sums in the order `lanes` that number their terms by the iterations of the loop run
/// over no other loop.
bool lanes_run_over(const For &n) {
  bool alone = true;
  walk(n.body, [&](const Store &s, const Stmt &) {
    alone = alone && (s.order != Order::lanes || !s.order.names(n.iter) || s.order.band.size() == 1);
  });
  return alone;
}

size_t stores_in(const Stmt &s, const Buf &b) {
  size_t count = 0;
  walk(s, [&](const Store &n, const Stmt &) { count += n.buf == b; });
  return count;
}

/// Returns whether one conditional of the loop selects into a cell, and nothing else stores to it. Also not
/// what never executes, which no dependence tells.
bool is_selected(const For &n, const CombinedValues &values, const Buf &b) {
  for (const Selection &s : values.selections)
    if (std::find(s.form.kept.begin(), s.form.kept.end(), b) != s.form.kept.end())
      return stores_in(n.body, b) == stores_in(s.at->yes, b);
  return false;
}

/// Returns whether all stores of the loop to a buffer accumulate in the same element, in all iterations, by
/// one operation. Also of those that never execute, which no dependence tells.
bool accumulates_one_element(const For &n, const CombinedValues &values, const Buf &b) {
  LoopInvariance invariance(n);
  std::optional<std::vector<Expr>> index;
  std::optional<BinOp> op;
  bool is_one = true;
  walk(n.body, [&](const Store &s, const Stmt &) {
    if (s.buf != b || changes_nothing(s)) return;
    is_one = is_one && invariance.holds(s.index) && (!index || equal(*index, s.index));
    index = s.index;
    Accumulation a = accumulation_of(s);
    bool is_free = (s.order != Order::source && s.order.names(n.iter)) || is_exact(a.op, b->dtype);
    bool accumulates = (a.term || fused_accumulator_of(s)) && is_free;
    BinOp own = !a.term || a.op == BinOp::sub ? BinOp::add : a.op;
    is_one = is_one && accumulates && (!op || *op == own);
    op = own;
  });
  return is_one || (b->rank() == 0 && is_selected(n, values, b));
}

/// Returns a verdict on the dependences of a loop that `suits` accepts, or the refusal.
template <class F>
Verdict by_dependences(const Func &f, const Nest &nest, Claim claim, uint32_t loop, const LoopPlace &place,
                       bool shown, F &&suits) {
  auto refused = [](Verdict v) {  // nothing would combine the results of the iterations
    if (!v.ok()) return v;
    Verdict out{Reason::ordered};
    out.shared = std::move(v.shared);
    return out;
  };
  Verdict v = legal(f, nest, claim, loop, false);
  if (v.ok() && suits(v)) return v;
  if (nest.loops[loop].parent != NestLoop::no_loop) {
    Nest own = extract_nest(place.at, place.scope, Reads::of_written);
    Verdict alone = legal(f, own, claim, 0, false);
    if (alone.ok() && suits(alone)) return alone;
  }
  return refused(shown ? legal(f, nest, claim, loop, true) : std::move(v));
}

/// Returns whether the iterations of a loop share nothing but what threads can combine at its end.
Verdict legal_combined(const Func &f, const Nest &nest, uint32_t loop, const LoopPlace &place, bool shown) {
  const For &n = *as<For>(place.at);
  CombinedValues values(n);
  Verdict v = by_dependences(f, nest, Claim::team, loop, place, shown, [&](const Verdict &one) {
    bool free =
        std::all_of(one.shared.begin(), one.shared.end(), [](const SharedReduction &r) { return r.free; });
    return free && std::all_of(one.accumulators.begin(), one.accumulators.end(),
                               [&](const Buf &b) { return accumulates_one_element(n, values, b); });
  });
  if (!v.ok()) return v;
  // What the statements look like counts too: no dependence tells of those that never execute.
  std::vector<const For *> around = loops_of(place.scope);
  std::vector<Buf> combined = v.accumulators;
  for (const Selection &s : values.selections)
    for (const Buf &b : s.form.kept) {
      if (!is_selected(n, values, b)) return inapplicable("the order of its stores is fixed", n.iter->loc);
      combined.push_back(b);
    }
  for (const Accumulator &a : values.accumulators) {
    bool is_atomic = std::any_of(around.begin(), around.end(), [&](const For *outer) {
      return outer && accumulates_by_atomics(*outer, a.cell);
    });
    if (is_atomic) return inapplicable("other teams accumulate in the same element", n.iter->loc);
    if (!accumulates_one_element(n, values, a.cell))
      return inapplicable("the order of a sum in it is fixed", n.iter->loc);
    combined.push_back(a.cell);
  }
  if (std::any_of(combined.begin(), combined.end(), [](const Buf &b) { return is_half(b->dtype); }))
    return inapplicable("threads do not combine 16-bit floats", place.at.loc());
  std::vector<const BufNode *> shared = private_scalars(f, nest, loop);
  for (const Buf &b : v.accumulators) shared.push_back(b.get());
  return writes_outer_scalar(n.body, shared) ? inapplicable("it stores to a scalar that is made outside it")
                                             : v;
}

/// Returns whether the iterations of a loop share nothing, neither reductions nor scalars made outside it.
Verdict legal_apart(const Func &f, const Nest &nest, uint32_t loop, const LoopPlace &place, bool shown) {
  Verdict v = by_dependences(f, nest, Claim::parallel, loop, place, shown,
                             [](const Verdict &one) { return one.shared.empty(); });
  const Stmt &body = as<For>(place.at)->body;
  bool shares = v.ok() && writes_outer_scalar(body, private_scalars(f, nest, loop));
  return shares ? inapplicable("it stores to a scalar that is made outside it") : v;
}

}  // namespace

Verdict legal_parallel(const Func &f, const Nest &nest, const Parallel &d, const LoopPlace &place,
                       bool shown) {
  const For &n = *as<For>(place.at);
  if (has_check(n.body)) return inapplicable(ordered_checks);
  if (counts_lanes(n)) {  // threads may share the blocks of sums that are all the loop does
    std::vector<const For *> band = perfect_reduction_at(n, loops_of(place.scope));
    // Memory for the partial sums is allocated before conditions are known.
    bool fits = !d.block && !band.empty() && has_call_constant_bounds(band) && !is_conditional(place.scope);
    if (!fits) return inapplicable("the order of a sum in it is fixed", place.at.loc());
    return by_dependences(f, nest, Claim::parallel, d.loop, place, shown, [](const Verdict &v) {
      return std::all_of(v.shared.begin(), v.shared.end(), [](const SharedReduction &r) { return r.free; });
    });
  }
  if (n.kind == ForKind::vector && !d.block) return inapplicable("a vector loop runs on threads in blocks");
  if (d.block && !has_bounded_blocks(f, n, place.scope))
    return inapplicable("its range does not follow from shapes alone");
  return legal_apart(f, nest, d.loop, place, shown);
}

/// Checks stay in their order: of the faults of a launch, the one that the serial loop meets first is raised.
Verdict legal_grid(const Func &f, const Nest &nest, const Grid &d, const LoopPlace &place, bool shown) {
  const For &n = *as<For>(place.at);
  if (counts_lanes(n)) return inapplicable("the order of a sum in it is fixed", place.at.loc());
  std::vector<const For *> around = loops_of(place.scope);
  bool has_atomics = std::any_of(around.begin(), around.end(),
                                 [](const For *outer) { return outer && !outer->atomics.empty(); });
  if (d.vector && has_atomics) return inapplicable("atomic operations have no vectors", place.at.loc());
  Verdict apart = legal_apart(f, nest, d.loop, place, false);
  if (apart.ok() || d.vector) return apart;
  Verdict v = by_dependences(f, nest, Claim::atomic, d.loop, place, false, [&](const Verdict &one) {
    return std::all_of(one.accumulators.begin(), one.accumulators.end(),
                       [&](const Buf &b) { return can_be_atomic(n.body, b); });
  });
  if (v.ok()) {
    std::vector<const BufNode *> shared = private_scalars(f, nest, d.loop);
    for (const Buf &b : v.accumulators) shared.push_back(b.get());
    if (!writes_outer_scalar(n.body, shared)) return v;
  }
  return shown ? legal_apart(f, nest, d.loop, place, true) : apart;
}

Verdict legal_team(const Func &f, const Nest &nest, const Team &d, const LoopPlace &place, bool shown) {
  const For &n = *as<For>(place.at);
  if (!lanes_run_over(n)) return inapplicable("the order of a sum in it is fixed", place.at.loc());
  return legal_combined(f, nest, d.loop, place, shown);
}

Verdict legal_stage(const Func &f, const Nest &nest, const Stage &d, const LoopPlace &place, bool shown) {
  Verdict v = legal_apart(f, nest, d.loop, place, shown);
  if (!v.ok()) return v;
  LoopPlace inner{as<For>(place.at)->body, place.scope};
  for_each_loop(place.at, [&](const Stmt &s, const For &, const NestScope &scope) {
    if (s.p == inner.at.p) inner.scope.insert(inner.scope.end(), scope.begin(), scope.end());
  });
  return legal_apart(f, nest, *find_loop(nest, as<For>(inner.at)->iter), inner, shown);
}

Verdict legal_stage_rows(const Func &f, const Nest &nest, uint32_t loop, const LoopPlace &place, bool shown) {
  return legal_apart(f, nest, loop, place, shown);
}

/// Returns the loops of a reduction in their places, outermost first.
static std::vector<LoopPlace> flat_places(const LoopPlace &place) {
  std::vector<LoopPlace> out;
  for (const For *n : loops_of_reduction(*as<For>(place.at))) {
    out.push_back(place);
    for_each_loop(place.at, [&](const Stmt &s, const For &inner, const NestScope &scope) {
      if (&inner != n || s.p == place.at.p) return;
      out.back().at = s;
      out.back().scope.insert(out.back().scope.end(), scope.begin(), scope.end());
    });
  }
  return out;
}

Verdict legal_rfactor(const Func &f, const Nest &nest, const Rfactor &, const LoopPlace &place, bool shown) {
  for (const LoopPlace &one : flat_places(place)) {
    Verdict v = legal_combined(f, nest, *find_loop(nest, as<For>(one.at)->iter), one, shown);
    if (!v.ok()) return v;
  }
  return {};
}

Verdict legal_private_bins(const Func &f, const Nest &nest, const PrivateBins &, const LoopPlace &place,
                           bool shown) {
  Verdict out;
  for (const LoopPlace &one : flat_places(place)) {
    Verdict v = legal_grid(f, nest, Grid{*find_loop(nest, as<For>(one.at)->iter), 1}, one, shown);
    if (!v.ok()) return v;
    for (const Buf &b : v.accumulators)
      if (out.accumulators.empty() || out.accumulators[0] != b) out.accumulators.push_back(b);
  }
  bool fits = out.accumulators.size() == 1 && can_have_bins(*as<For>(place.at), out.accumulators[0]);
  return fits ? out : inapplicable("its threads accumulate in no array of which each block can have a copy");
}

Verdict legal_scan(const Func &f, const ScanLoop &, const LoopPlace &place, bool shown) {
  const For &n = *as<For>(place.at);
  LoopPlace apart{without_scan(n, *scan_of(n, f.fp), place.at.loc()), place.scope};
  Func trial = f;
  trial.body = rewrite(f.body, [&](const For &one, const Stmt &s) { return &one == &n ? apart.at : s; });
  Verdict v = legal_apart(trial, extract_nest(apart.at, apart.scope), 0, apart, shown);
  v.dependence.reset(), v.witness.reset(), v.cause.reset();  // they are of the trial
  return v;
}

Verdict legal_vectorize(const Func &f, const Nest &nest, const Vectorize &d, const LoopPlace &place,
                        bool shown) {
  const For &n = *as<For>(place.at);
  if (has_check(n.body)) return inapplicable(ordered_checks);
  VectorizationAnalysis view(n);
  auto has_no_vector_form = [&] {
    return inapplicable("it holds a statement that has no vector form", view.blocker());
  };
  if (!shown && !view.is_vectorizable()) return has_no_vector_form();
  if (reduces_halves(n, view)) return inapplicable("a reduction of 16-bit floats has no vector form");
  if (view.has_lane_sums() && !has_sums_of_its_own(n, loops_of(place.scope)))
    return inapplicable("the order of a sum in it is fixed", place.at.loc());
  Verdict v = by_dependences(f, nest, Claim::vectorize, d.loop, place, shown, [&](const Verdict &one) {
    bool may_meet = std::any_of(one.shared.begin(), one.shared.end(),
                                [](const SharedReduction &r) { return r.in_memory; });
    return !(may_meet && stores_apart(n, view));
  });
  return v.ok() && !view.is_vectorizable() ? has_no_vector_form() : v;
}

bool is_free(const Func &f, const Nest &nest, uint32_t loop, FreeFor use) {
  const For *n = nest.loops[loop].loop;
  if (!n || n->kind != ForKind::serial || jumps_of(n->body).any() || counts_lanes(*n)) return false;
  Verdict v = legal(f, nest, Claim::parallel, loop, false);
  if (!v.ok() || !v.shared.empty())
    return use == FreeFor::any_kind && is_innermost(nest, loop) &&
           VectorizationAnalysis(*n).is_vectorizable() && legal(f, nest, Claim::vectorize, loop, false).ok();
  if (use == FreeFor::threads) return !writes_outer_scalar(n->body, private_scalars(f, nest, loop));
  if (use != FreeFor::lanes) return true;
  bool repeats = false;
  walk(n->body, [&](const While &, const Stmt &) { repeats = true; });
  return !repeats && !has_check(n->body);
}

}  // namespace kw
