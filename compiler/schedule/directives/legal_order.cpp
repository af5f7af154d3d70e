// Each verb has one rule, which asks linear systems of iteration pairs.
#include "schedule/directives/legal_order.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/nest/privatize.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/directives/witness.h"
#include "schedule/tree/statement_list.h"

namespace kw {

namespace {

/// Describes for each dependence the iterations that the directive would execute in the wrong order, as a
/// linear system, and asks whether there are any.
class OrderChecker {
 public:
  OrderChecker(const Func &f, const Nest &nest, const Directive &d, bool shown)
      : f_(f), nest_(nest), d_(d), shown_(shown), search_(f, nest) {}

  Verdict run() {
    return std::visit(
        Overload{[&](const Reorder &d) { return perfect_loops(d.loops, true); },
                 [&](const Tile &d) { return perfect_loops(d.loops, false); },
                 [&](const UnrollAndJam &d) { return unroll_and_jam(d); },
                 [&](const Fuse &d) { return fuse(d); }, [&](const Distribute &d) { return distribute(d); },
                 [](const auto &other) { return in_order(other); }},
        d_.what);
  }

 private:
  /// Those that keep the order of all iterations, or that LoopNest::legal asks elsewhere.
  template <class D>
  static Verdict in_order(const D &) {
    constexpr bool keeps_order =
        sets_plan<D> || std::is_same_v<D, Split> || std::is_same_v<D, Unroll> || std::is_same_v<D, Peel> ||
        std::is_same_v<D, SplitIndexSet> || std::is_same_v<D, Privatize> || std::is_same_v<D, Contract> ||
        std::is_same_v<D, Expand> || std::is_same_v<D, ReplaceWithScalar> || std::is_same_v<D, Specialize> ||
        std::is_same_v<D, Linearize> || std::is_same_v<D, CacheRow> || std::is_same_v<D, ShortRows>;
    constexpr bool has_rule_of_its_own = rewrites_for_gpu<D> || std::is_same_v<D, Parallel> ||
                                         std::is_same_v<D, Vectorize> || std::is_same_v<D, Grid> ||
                                         std::is_same_v<D, Team>;
    static_assert(keeps_order || has_rule_of_its_own, "a directive without a rule on dependences");
    return {};
  }
  const std::vector<uint32_t> &loops_of(uint32_t statement) const {
    return nest_.statements[statement].loops;
  }
  const NestAccess &from(const Dependence &d) const { return search_.from(d); }

  /// Returns whether both accesses belong to a reduction that may run in any order.
  bool is_ignored(const Dependence &d) const {
    const ReductionMark &x = from(d).reduction, &y = search_.to(d).reduction;
    return relaxable(x, y) && x.any_order && y.any_order;
  }

  /// Returns whether the system has no solution; else keeps the refusal in `verdict_`.
  bool is_excluded(const Dependence &d, PairSystem &system) {
    if (system.surely_empty(&work_)) return true;
    verdict_ = search_.refusal(d);
    if (shown_) verdict_ = search_.with_witness(std::move(verdict_), system);
    return false;
  }

  /// Returns the dependences that a loop carries, ignored reductions and the buffers in `own` excluded. `own`
  /// is private to each iteration.
  Dependences carried_by(uint32_t loop, const std::vector<const BufNode *> &own) const {
    DependenceQuery query{loop};
    query.without = own;
    query.wanted = [&](const Dependence &d) { return !is_ignored(d); };
    return find_dependences(nest_, query);
  }

  /// Judges Reorder and Tile. Perfectly nested loops have consecutive places among the loops around each
  /// statement in them.
  Verdict perfect_loops(const std::vector<uint32_t> &order, bool in_new_order) {
    std::vector<uint32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<const BufNode *> own = private_scalars(f_, nest_, sorted.back());
    // Reorder: the first loop of the new order in which the iterations differ must not run backwards. Tile:
    // none may, so that the loops are fully permutable.
    for (uint32_t carrier : sorted) {
      Dependences carried = carried_by(carrier, own);
      if (!carried.complete) return {Reason::unproved};
      for (const Dependence &d : carried.found) {
        uint32_t first = place_of(d.source, sorted[0]);
        for (size_t i = 0; i < order.size(); ++i) {
          PairSystem system(nest_, d, d.level, true);
          for (size_t before = 0; in_new_order && before < i; ++before)
            system.restrict_to(first + rank(sorted, order[before]), Direction::equal);
          system.restrict_to(first + rank(sorted, order[i]), Direction::earlier);
          if (!is_excluded(d, system)) return verdict_;
        }
      }
    }
    return {};
  }
  uint32_t place_of(uint32_t statement, uint32_t loop) const {
    const auto &loops = loops_of(statement);
    return static_cast<uint32_t>(std::find(loops.begin(), loops.end(), loop) - loops.begin());
  }
  static uint32_t rank(const std::vector<uint32_t> &sorted, uint32_t loop) {
    return static_cast<uint32_t>(std::find(sorted.begin(), sorted.end(), loop) - sorted.begin());
  }

  /// Judges UnrollAndJam: the iterations of one block execute each statement together, in inner loops that
  /// they share.
  Verdict unroll_and_jam(const UnrollAndJam &jam) {
    std::vector<const BufNode *> own = private_scalars(f_, nest_, jam.loop);
    Dependences carried = carried_by(jam.loop, own);
    if (!carried.complete) return {Reason::unproved};
    int64_t step = nest_.loops[jam.loop].loop->step, far;
    // Iterators of one block differ by `far` at most. If `far` overflows, any two iterations may be in one
    // block.
    bool bounded = !__builtin_mul_overflow(step, jam.count - 1, &far);
    for (const Dependence &d : carried.found) {
      for (uint32_t m = d.level + 1; m <= d.common; ++m) {
        // In the same iteration of all inner loops the order of the text decides, with all copies of a
        // statement in one place.
        if (m == d.common && d.source <= d.sink) break;
        PairSystem system(nest_, d, d.level, true);
        if (bounded) system.restrict_distance(d.level, step > 0, far);
        for (uint32_t between = d.level + 1; between < m; ++between)
          system.restrict_to(between, Direction::equal);
        if (m < d.common) system.restrict_to(m, Direction::earlier);
        if (!is_excluded(d, system)) return verdict_;
      }
    }
    return {};
  }

  /// Judges Fuse: an iteration of the second loop executes before later iterations of the first.
  Verdict fuse(const Fuse &pair) {
    uint32_t first = pair.loop, second = pair.next;
    DependenceQuery query;
    query.wanted = [&](const Dependence &d) {
      // Within one iteration of the loops around both: other iterations keep their order.
      return d.level == d.common && !is_ignored(d) && is_in(d.source, first) && is_in(d.sink, second);
    };
    Dependences all = find_dependences(nest_, query);
    if (!all.complete) return {Reason::unproved};
    for (const Dependence &d : all.found) {
      PairSystem system(nest_, d, d.common, false);
      system.restrict_to_earlier(first, second);
      if (!is_excluded(d, system)) return verdict_;
    }
    return {};
  }
  bool is_in(uint32_t statement, uint32_t loop) const {
    const auto &loops = loops_of(statement);
    return std::find(loops.begin(), loops.end(), loop) != loops.end();
  }

  /// Judges Distribute: all iterations of the first part execute before those of the second.
  Verdict distribute(const Distribute &cut) {
    std::unordered_set<const StmtNode *> first, second;
    StatementList body = statements_of(nest_.loops[cut.loop].loop->body);
    for (size_t i = 0; i < body.size(); ++i) {
      auto &part = i <= static_cast<size_t>(cut.after) ? first : second;
      part.insert(body[i].s.p.get());
      if (!body[i].opens) add_all(body[i].s, part);
    }
    auto is_in_part = [&](uint32_t statement, const auto &part) {
      return part.count(nest_.statements[statement].at.p.get()) > 0;
    };
    DependenceQuery query{cut.loop};
    query.wanted = [&](const Dependence &d) {
      // Only a dependence from the second part back to the first is reversed.
      return is_in_part(d.source, second) && is_in_part(d.sink, first) && !is_ignored(d);
    };
    Dependences carried = find_dependences(nest_, query);
    if (!carried.complete) return {Reason::unproved};
    for (const Dependence &d : carried.found) {
      PairSystem system(nest_, d, d.level, true);
      if (!is_excluded(d, system)) return verdict_;
    }
    return {};
  }
  /// Adds all statements below `root`, as the statements of a nest name them.
  static void add_all(const Stmt &root, std::unordered_set<const StmtNode *> &out) {
    auto add = [&](const auto &, const Stmt &s) { out.insert(s.p.get()); };
    walk(
        root, [&](const Store &n, const Stmt &s) { add(n, s); },
        [&](const Let &n, const Stmt &s) { add(n, s); }, [&](const For &n, const Stmt &s) { add(n, s); },
        [&](const While &n, const Stmt &s) { add(n, s); }, [&](const If &n, const Stmt &s) { add(n, s); },
        [&](const Check &n, const Stmt &s) { add(n, s); });
  }

  const Func &f_;
  const Nest &nest_;
  const Directive &d_;
  bool shown_;
  WitnessSearch search_;
  Verdict verdict_;
  // Solver steps for one directive. Chosen: some 10 ms.
  int64_t work_ = 100'000;
};

}  // namespace

Verdict legal_order(const Func &f, const Nest &nest, const Directive &d, bool shown) {
  return OrderChecker(f, nest, d, shown).run();
}

}  // namespace kw
