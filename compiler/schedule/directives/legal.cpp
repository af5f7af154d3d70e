// The rules for claims that iterations may run in any order, or may be vectorized.
#include "schedule/directives/legal.h"

#include <algorithm>

#include "analysis/nest/privatize.h"
#include "ir/loops.h"
#include "schedule/directives/witness.h"

namespace kw {

namespace {

/// Judges each dependence that the loop carries. The claim holds if none of them forbids it.
class LegalityChecker {
 public:
  LegalityChecker(const Func &f, const Nest &nest, Claim claim, uint32_t loop, bool shown)
      : f_(f), nest_(nest), claim_(claim), loop_(loop), shown_(shown), search_(f, nest) {}

  Verdict run() {
    const For &loop = *nest_.loops[loop_].loop;
    if (Jumps jumps = jumps_of(loop.body); jumps.breaks) {
      Verdict out{Reason::jump};
      out.jump = jumps.first_break;
      return out;
    }
    std::vector<Verdict> refusals;
    DependenceQuery query{loop_};
    // Scalars that each iteration writes before it reads them can be private to each iteration.
    query.without = private_scalars(f_, nest_, loop_);
    query.on_found = [&](const Dependence &d) {
      if (Verdict v = judge(d); !v.ok()) refusals.push_back(std::move(v));
      return shown_ || refusals.empty();  // the choice among several refusals matters only if one is shown
    };
    if (!find_dependences(nest_, query).complete) return {Reason::unproved};
    Verdict out = worst_of(std::move(refusals));
    if (out.ok())
      out.shared = std::move(shared_), out.accumulators = std::move(accumulators_), out.in_step = in_step_;
    return out;
  }

 private:
  const NestAccess &from(const Dependence &d) const { return search_.from(d); }
  const NestAccess &to(const Dependence &d) const { return search_.to(d); }

  /// Returns the refusal to report: of the highest rank, one that has a witness if possible.
  Verdict worst_of(std::vector<Verdict> refusals) {
    std::stable_sort(refusals.begin(), refusals.end(),
                     [&](const Verdict &a, const Verdict &b) { return rank(a) > rank(b); });
    if (refusals.empty()) return {};
    if (!shown_) return refusals[0];
    Verdict worst;
    for (size_t i = 0; i < std::min(refusals.size(), max_searches); ++i) {
      Dependence d = *refusals[i].dependence;
      PairSystem system(nest_, d, d.level, true);
      Verdict v = search_.with_witness(std::move(refusals[i]), system);
      if (rank(v) > rank(worst)) worst = std::move(v);
      if (i + 1 < refusals.size() && rank(worst) >= rank(refusals[i + 1])) break;
    }
    return worst;
  }

  /// Ranks certain conflicts highest, and among these flow dependences. Before the search for a witness, the
  /// rank is the highest that the refusal can reach.
  int rank(const Verdict &v) const {
    if (v.ok()) return 0;
    const NestAccess &x = from(*v.dependence), &y = to(*v.dependence);
    if (v.reason == Reason::ordered) return x.is_write && y.is_write ? 2 : 1;
    if (v.reason == Reason::unproved) return 3;
    if (v.reason == Reason::repeated) return 4;
    bool needed = x.is_write && !y.is_write;
    return 5 + (needed ? 1 : 0) + (!v.witness || v.witness->certain ? 2 : 0);
  }

  Verdict judge(const Dependence &d) {
    const For *loop = nest_.loops[loop_].loop;
    const NestAccess &x = from(d), &y = to(d);
    std::optional<uint32_t> data = search_.in_subscripts(
        d, [](const NestVariable &v) { return v.kind == NestVariable::Kind::opaque || v.reads_data; });
    if (relaxable(x.reduction, y.reduction)) {
      bool free = order_is_free(x.reduction, loop) && order_is_free(y.reduction, loop);
      bool in_memory = x.buf->space != Space::registers;
      if (is_selected(x)) return note({x.reduction.kind, true, in_memory}, x.buf);
      bool fits = claim_ == Claim::reduce || (free && (!data || claim_ == Claim::atomic));
      if (fits) return note({x.reduction.kind, free, in_memory}, x.buf);
      if (!data) return {Reason::ordered, d, {}, {}, {}};
    }
    if (claim_ == Claim::vectorize && lanes_keep_order(d)) {
      in_step_ = true;
      return {};
    }
    return search_.refusal(d);
  }

  /// Returns whether lanes or threads can share an arg-reduction. They remember their iterations, so that the
  /// iteration that the serial loop selects is found.
  bool is_selected(const NestAccess &x) const {
    bool remembers = claim_ == Claim::vectorize || claim_ == Claim::team;
    return remembers && x.reduction.kind == ReductionKind::arg_reduction && x.buf->space == Space::registers;
  }

  /// Accepts the dependence and notes its reduction and its buffer, each kind and each buffer once.
  Verdict note(const SharedReduction &r, const Buf &buf) {
    if (std::find(accumulators_.begin(), accumulators_.end(), buf) == accumulators_.end())
      accumulators_.push_back(buf);
    bool known = std::any_of(shared_.begin(), shared_.end(), [&](const SharedReduction &s) {
      return s.kind == r.kind && s.free == r.free && s.in_memory == r.in_memory;
    });
    if (!known) shared_.push_back(r);
    return {};
  }

  /// Returns whether lockstep execution, statement by statement, keeps the source before the sink. Reads of a
  /// statement come before its write, and inner loops advance together.
  bool lanes_keep_order(const Dependence &d) const {
    bool text = d.source < d.sink || (d.source == d.sink && !from(d).is_write);
    // Solver steps for one dependence. Chosen: some 5 ms.
    int64_t work = 50'000;
    const auto &loops = nest_.statements[d.source].loops;
    for (uint32_t m = d.level + 1; m <= d.common; ++m) {
      if (m < d.common && !nest_.loops[loops[m]].loop) return false;  // a while
      if (m == d.common && text) return true;
      PairSystem system(nest_, d, d.level, true);
      for (uint32_t between = d.level + 1; between < m; ++between)
        system.restrict_to(between, Direction::equal);
      if (m < d.common) system.restrict_to(m, Direction::earlier);
      if (!system.surely_empty(&work)) return false;
    }
    return true;
  }

  // Witness searches for one verdict. Chosen; WitnessSearch limits their time together to some 20 ms.
  static constexpr size_t max_searches = 16;

  const Func &f_;
  const Nest &nest_;
  Claim claim_;
  uint32_t loop_;
  bool shown_;
  std::vector<SharedReduction> shared_;
  std::vector<Buf> accumulators_;
  bool in_step_ = false;
  WitnessSearch search_;
};

}  // namespace

std::optional<Claim> claim_of(Hint hint) {
  switch (hint) {
    case Hint::parallel: return Claim::parallel;
    case Hint::vectorize: return Claim::vectorize;
    case Hint::reduce: return Claim::reduce;
    default: return std::nullopt;
  }
}

std::string_view claim_name(Claim claim) {
  static constexpr std::string_view names[] = {"parallel", "vectorize", "reduce", "", ""};
  return names[static_cast<size_t>(claim)];
}

Verdict legal(const Func &f, const Nest &nest, Claim claim, uint32_t loop, bool shown) {
  return LegalityChecker(f, nest, claim, loop, shown).run();
}

}  // namespace kw
