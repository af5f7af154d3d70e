// Rewrites the stores, the ends of their innermost loops, and the bands.
#include "transform/lowering/passes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/perfect_reduction.h"
#include "analysis/vector/vectorization.h"
#include "ir/accumulation.h"
#include "ir/intrinsics.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "transform/copy.h"
#include "transform/lowering/blocked_reduction.h"

namespace kw {

namespace {

/// Returns the number of the current iteration of a loop, from 0.
Expr number_of(const For &n) {
  Expr iter = kw::ref(n.iter);
  return n.step > 0 ? steps_between(n.lo, iter, n.step) : steps_between(iter, n.lo, n.step);
}

/// Returns whether every iteration of a band reaches the store: no condition skips it.
bool always_reached(const Stmt &root, const StmtNode *store) {
  bool found = false;
  for_each_in_block(root, [&](const Stmt &s) {
    const For *loop = as<For>(s);
    found = found || s.p.get() == store || (loop && always_reached(loop->body, store));
  });
  return found;
}

bool holds_loops(const For &n) {
  bool found = false;
  walk(
      n.body, [&](const For &, const Stmt &) { found = true; },
      [&](const While &, const Stmt &) { found = true; });
  return found;
}

/// Returns whether one iteration costs no more than adding its terms in order. Vectors would then gain
/// nothing for a short band.
bool is_light(const For &n) {
  // Chosen, not measured.
  constexpr uint32_t operations = 8;
  bool short_code = !holds_loops(n);
  walk(n.body, [&](const Call &c, const Expr &) { short_code &= row_of(c.fn).cost != Cost::function; });
  return short_code && VectorizationAnalysis(n).work().operations <= operations;
}

/// Most sums that keep their terms for short bands. For more of them, that code takes half of the compile
/// time: 1.1 of 2.2 s for 400 sums.
constexpr size_t most_with_terms = 32;

/// Returns the loop as written, with every sum in source order. It has fewer iterations than lanes. It holds
/// no loops, because their sums would have lengths of their own.
Stmt in_source_order(const Stmt &loop) {
  Stmt plain = rewrite(loop, [](const Store &n, const Stmt &s) {
    return n.order == Order::lanes ? store(n.buf, n.index, n.value, s.loc()) : s;
  });
  For out = *as<For>(plain);
  out.kind = ForKind::serial, out.how = {.max_trips = sum_lanes - 1};
  return copy_of(for_loop(std::move(out), loop.loc()));
}

/// Encloses a band with its accumulators, and adds their total to the target.
Stmt enclose(const ReductionPlan &sum, Stmt band) {
  std::vector<Stmt> items{store(sum.bufs.carry, {}, sum.identity())};
  std::vector<Buf> buffers{sum.bufs.carry, sum.bufs.partial, sum.bufs.lanes};
  if (sum.guarded) {
    items.push_back(store(sum.bufs.used, {}, const_int(0)));
    buffers.push_back(sum.bufs.used);
  }
  if (sum.how.form == ReductionPlan::Form::scattered) {
    items.push_back(begin_blocks(sum));
    items.push_back(reset_lanes(sum));
    buffers.push_back(sum.bufs.due);
  }
  items.push_back(std::move(band));
  if (sum.how.form == ReductionPlan::Form::scattered)
    items.push_back(end_blocks_before(sum, kw::ref(sum.count)));
  items.push_back(sum.by_length({}, add_carry(sum)));
  Stmt out = seq(std::move(items));
  for (const Buf &b : buffers) out = alloc(b, Fill::none, out);
  return out;
}

/// Runs the only loop of the bands of these sums in blocks of 4,096 iterations, each with its end.
Stmt run_in_blocks(const For &n, const std::vector<const ReductionPlan *> &sums, const Loc &loc) {
  Expr count = kw::ref(sums.front()->count), one = const_int(1);
  Sym first = make_sym(SymKind::local, DType::i64, "first"), block = lane_iterator("block"),
      blocks = make_sym(SymKind::local, DType::i64, "blocks"),
      start = make_sym(SymKind::local, DType::i64, "start");
  For inner = n;
  inner.lo = kw::ref(first), inner.step = 1;
  inner.hi = binary(BinOp::min, count, add(kw::ref(first), const_int(sum_block)));
  bool counts_itself = n.step == 1 && as_int(n.lo) == 0;
  if (!counts_itself) {
    Sym at = make_sym(SymKind::local, DType::i64, n.iter->name);
    inner.iter = lane_iterator("k");
    inner.body = rewrite(
        n.body, [&](const Ref &r, const Expr &e) { return r.sym == n.iter ? kw::ref(at, e.loc()) : e; });
    Expr k = kw::ref(inner.iter);
    inner.body = let(at, add(kw::ref(start), mul(k, const_int(n.step))), inner.body);
  }
  std::vector<Stmt> parts, ends;
  for (const ReductionPlan *sum : sums) {
    parts.push_back(reset_lanes(*sum));
    inner.body = let(sum->number, kw::ref(inner.iter), inner.body);
    Expr is_last = binary(BinOp::eq, add(kw::ref(block), one), kw::ref(blocks));
    ends.push_back(fold_lanes(*sum, [&](Expr folded) {
      return seq({sum->set_carry(std::move(folded)), add_block(*sum, kw::ref(block), is_last)});
    }));
  }
  parts.push_back(for_loop(inner, loc));
  parts.push_back(sums.front()->by_length({}, seq(ends)));
  Stmt body = let(first, binary(BinOp::shl, kw::ref(block), const_int(sum_block_bits)), seq(parts));
  Stmt out = let(blocks, add(binary(BinOp::shr, sub(count, one), const_int(sum_block_bits)), one),
                 counted_loop(block, const_int(0), kw::ref(blocks), body));
  return counts_itself ? out : let(start, n.lo, out);
}

class ReductionLowering {
 public:
  explicit ReductionLowering(const Target &target) : target_(target) {}

  Func run(const Func &f) {
    for_each_store(f.body, [&](const Stmt &s, const Store &n, const std::vector<const For *> &loops) {
      if (n.order == Order::lanes) note(s, n, loops);
    });
    if (sums_.empty()) return f;
    choose_forms();
    Func out = f;
    out.body = rewrite(
        f.body,
        [&](const Store &n, const Stmt &s, const Stmt &original) {
          auto found = sums_.find(original.p.get());
          return found == sums_.end() ? s : accumulate(found->second, n);
        },
        [&](const For &n, const Stmt &s, const Stmt &original) { return loop(n, s, original); });
    return out;
  }

 private:
  void note(const Stmt &s, const Store &n, const std::vector<const For *> &loops) {
    std::vector<const For *> band = band_of(n, loops);
    if (band.empty() || band.front()->kind == ForKind::block) return;
    bool skips = !always_reached(band.back()->body, s.p.get());
    std::vector<const For *> around(loops.begin(), loops.end() - static_cast<std::ptrdiff_t>(band.size()));
    if (band.size() == 1 || is_perfect_reduction(band, around)) pure_.insert(s.p.get());
    Store sum = n;
    if (!n.index.empty()) {  // evaluated once more after the band, outside the scope of its locals
      LoopInvariance invariance(*band.back());
      for (Expr &i : sum.index) i = invariance.without_locals(i);
    }
    sums_.emplace(s.p.get(), ReductionPlan(sum, s.loc(), std::move(band), skips));
    order_.push_back(s.p.get());
  }

  /// Returns whether each band either equals this one or shares no loop with it.
  bool is_alone(const std::vector<const For *> &band) const {
    return std::all_of(sums_.begin(), sums_.end(), [&](const auto &other) {
      const std::vector<const For *> &theirs = other.second.band;
      return theirs == band ||
             std::find_first_of(theirs.begin(), theirs.end(), band.begin(), band.end()) == theirs.end();
    });
  }

  /// Chooses the form of each sum. A band runs in blocks if no longer or shorter band shares its loops.
  void choose_forms() {
    for (auto &[at, sum] : sums_) {
      const For &inner = *sum.band.front();
      if (!pure_.count(at) || !is_alone(sum.band)) continue;
      bool many = sums_of(sum.band) > most_with_terms && !facts_of(inner).holds_loops;
      sum.how.long_only = sum.band.size() == 1 && (facts_of(inner).is_light || many);
      bool threads = sum.band.back()->kind == ForKind::parallel;
      bool lanes = inner.kind == ForKind::vector || (threads && sum.band.size() == 1);
      if (lanes && inner.how.vector_width >= 2 && inner.how.vector_width <= sum_lanes) {
        bool registers = inner.how.vector_width == sum_lanes && facts_of(inner).fits_registers;
        sum.run_in_rows(registers, threads && !any_guarded(sum.band));
      } else if (sum.band.size() == 1) {
        sum.how.form = ReductionPlan::Form::in_blocks;
      }
    }
  }
  size_t sums_of(const std::vector<const For *> &band) const {
    return static_cast<size_t>(std::count_if(sums_.begin(), sums_.end(),
                                             [&](const auto &other) { return other.second.band == band; }));
  }
  /// The properties of a loop that each of its sums asks for.
  struct LoopFacts {
    bool is_light, holds_loops, fits_registers;
  };
  const LoopFacts &facts_of(const For &n) {
    auto known = facts_.find(&n);
    if (known != facts_.end()) return known->second;
    VectorizationAnalysis view(n);
    bool in_registers = view.reductions().empty() && can_mask(view, target_);
    return facts_.emplace(&n, LoopFacts{is_light(n), holds_loops(n), in_registers}).first->second;
  }
  bool any_guarded(const std::vector<const For *> &band) const {
    return std::any_of(sums_.begin(), sums_.end(),
                       [&](const auto &s) { return s.second.band == band && s.second.guarded; });
  }

  /// Numbers the iterations of a band that stays as it is.
  static void number_all(For &inner, const ReductionPlan &sum) {
    Expr number;
    for (size_t d = sum.band.size(); d-- > 0;) {
      Expr mine = number_of(*sum.band[d]);
      number = number ? add(mul(number, trips_of(*sum.band[d])), mine) : mine;
    }
    inner.body = let(sum.number, number, inner.body);
  }

  Stmt loop(const For &n, const Stmt &s, const Stmt &original) {
    const For *source = as<For>(original);
    For inner = n;
    Stmt out = s;
    std::vector<const ReductionPlan *> blocked, rows, whole;  // of one loop; in rows; others that end here
    for (const StmtNode *at : order_) {
      const ReductionPlan &sum = sums_.at(at);
      if (sum.band.back() == source)
        (sum.how.form == ReductionPlan::Form::in_rows ? rows : whole).push_back(&sum);
      if (sum.how.form == ReductionPlan::Form::in_rows || !is_in(sum.band, source)) continue;
      if (inner.kind == ForKind::parallel) inner.kind = ForKind::serial, inner.how = {};
      out = for_loop(inner, s.loc());
      if (sum.band.front() != source) continue;
      if (sum.how.form == ReductionPlan::Form::in_blocks)
        blocked.push_back(&sum);
      else
        number_all(inner, sum), out = for_loop(inner, s.loc());
    }
    if (!blocked.empty()) out = run_in_blocks(inner, blocked, s.loc());
    if (!rows.empty()) out = run_in_rows(n, rows, s.loc(), target_);
    for (const ReductionPlan *sum : rows) out = let(sum->count, count_of(*sum), out);
    for (const ReductionPlan *sum : whole) out = let(sum->count, count_of(*sum), enclose(*sum, out));
    bool long_only =
        (!rows.empty() && rows[0]->how.long_only) || (!blocked.empty() && blocked[0]->how.long_only);
    return long_only ? if_short(*source, in_source_order(original), std::move(out)) : out;
  }

  static Stmt if_short(const For &n, Stmt yes, Stmt no) {
    if (auto known = as_int(trips_of(n))) return *known < sum_lanes ? yes : no;
    Sym trips = make_sym(SymKind::local, DType::i64, "trips");
    Expr is_short = binary(BinOp::lt, kw::ref(trips), const_int(sum_lanes));
    return let(trips, trips_of(n), if_else(std::move(is_short), std::move(yes), std::move(no)));
  }

  static bool is_in(const std::vector<const For *> &band, const For *loop) {
    return std::find(band.begin(), band.end(), loop) != band.end();
  }

  static Expr count_of(const ReductionPlan &sum) {
    Expr count = const_int(1);
    for (const For *level : sum.band) count = mul(count, trips_of(*level));
    return count;
  }

  const Target &target_;
  std::unordered_map<const StmtNode *, ReductionPlan> sums_;
  std::unordered_map<const For *, LoopFacts> facts_;
  std::unordered_set<const StmtNode *> pure_;  ///< with nothing between the loops of their band
  std::vector<const StmtNode *> order_;        ///< keys of sums_ in source order
};

}  // namespace

/// Removes the loops from the remaining marks: they say "in any order" of sums whose loops may be rewritten.
/// The emitter divides those of block loops.
static Func without_bands(const Func &f) {
  std::unordered_set<Sym> of_teams;
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.kind == ForKind::block) of_teams.insert(n.iter);
  });
  Func out = f;
  out.body = rewrite(f.body, [&](const Store &n, const Stmt &s) {
    OrderMark mark{n.order.order};
    for (const Sym &loop : n.order.band)
      if (of_teams.count(loop)) mark.band.push_back(loop);
    return mark.band == n.order.band ? s : store(n.buf, n.index, n.value, s.loc(), mark);
  });
  return out;
}

Func lower_reductions(const Func &f, const Target &target) {
  return without_bands(ReductionLowering(target).run(f));
}

}  // namespace kw
