// Compares the costs of loops before it tries directives. Distribution is tried on a copy of the nest.
#include "schedule/steps/steps.h"

#include <algorithm>

#include "analysis/cost.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/limits.h"
#include "ir/match.h"
#include "schedule/steps/distribute_loops.h"
#include "schedule/tree/perfect_nest.h"

namespace kw {

namespace {

/// Estimates the cache lines that a body fetches per iteration if this loop is innermost.
double lines_of(const Nest &nest, uint32_t body_of, uint32_t loop) {
  constexpr double line = cache_line;
  auto trips = constant_trips(*nest.loops[loop].loop);
  double out = 0, count = trips ? static_cast<double>(std::max<uint64_t>(*trips, 1))
                                : static_cast<double>(unknown_trips);
  for (const NestStatement &s : nest.statements) {
    if (!is_inside(s, body_of)) continue;
    for (const NestAccess &a : s.accesses) {
      if (a.buf->space == Space::registers) continue;
      switch (stride_of(nest, a, loop)) {
        case StrideKind::invariant: out += 1 / count; break;
        case StrideKind::unit: out += item_size(a.buf->dtype) / line; break;
        case StrideKind::same_line: out += 0.5; break;
        default: out += 1; break;
      }
    }
  }
  return out;
}

class LoopPermutation {
 public:
  explicit LoopPermutation(LoopNest &nest) : nest_(nest) {}

  void run() {
    if (nest_.nest().loops.size() < 2) return;
    take_apart();
    for (const Sym &root : roots_of_perfect_nests(nest_.nest()))
      if (auto loop = find_loop(nest_.nest(), root)) order(*loop);
  }

 private:
  // The factor by which another order must reduce the fetched cache lines. Chosen: below it the order of the
  // source stays.
  static constexpr double clearly = 2;

  /// Distributes loops that hold statements beside inner loops. With the outer loop innermost, each inner
  /// loop must fetch less than 1/`clearly` of the cache lines.
  void take_apart() {
    for (uint32_t l = static_cast<uint32_t>(nest_.nest().loops.size()); l-- > 0;) {
      const Nest &nest = nest_.nest();
      std::vector<uint32_t> inner = loops_in(nest, l);
      if (inner.empty() || !may_move(nest, l) || as<For>(nest.loops[l].loop->body)) continue;
      bool gains = std::all_of(inner.begin(), inner.end(), [&](uint32_t i) {
        bool plain = may_move(nest, i) && loops_in(nest, i).empty() &&
                     !bounds_mention(*nest.loops[i].loop, nest.loops[l].loop->iter);
        return plain && lines_of(nest, i, i) > clearly * lines_of(nest, i, l);
      });
      if (!gains || writes_cells(l)) continue;
      take_apart(l);
    }
  }

  /// Returns whether the loop writes scalars. Such a loop is left to
  /// schedule/cpu/strip_mine_column_reductions, or keeps the scalars in registers.
  bool writes_cells(uint32_t loop) const {
    for (const NestStatement &s : nest_.nest().statements)
      for (const NestAccess &a : s.accesses)
        if (is_inside(s, loop) && a.is_write && a.buf->space == Space::registers) return true;
    return false;
  }

  void take_apart(uint32_t loop) {
    const Nest &nest = nest_.nest();
    uint32_t parent = nest.loops[loop].parent;
    Sym around = parent == NestLoop::no_loop ? Sym{} : nest.loops[parent].loop->iter;
    std::vector<uint32_t> siblings = loops_in(nest, parent);
    auto place = static_cast<size_t>(std::find(siblings.begin(), siblings.end(), loop) - siblings.begin());
    LoopNest trial = nest_;
    auto pieces = distribute_all(trial, around, place);
    bool all = pieces.has_value();
    for (size_t i = 0; all && i < pieces->count; ++i) {
      uint32_t across = loop_at(trial.nest(), around, place + i);
      std::vector<uint32_t> inner = loops_in(trial.nest(), across);
      all = inner.empty() || exchange(trial, {across, inner[0]}, {inner[0], across});
    }
    if (all) nest_ = trial;
  }

  /// Applies a new order unless it loses an outermost loop that threads can share.
  static bool exchange(LoopNest &nest, const std::vector<uint32_t> &now, const std::vector<uint32_t> &order) {
    bool is_outermost = true;  // of the loops that threads can share
    for (uint32_t l = nest.nest().loops[now[0]].parent; l != NestLoop::no_loop;
         l = nest.nest().loops[l].parent)
      is_outermost = is_outermost && !nest.is_free(l, FreeFor::threads);
    bool threads = is_outermost && order[0] != now[0] && nest.is_free(now[0], FreeFor::threads);
    if (threads && !nest.is_free(order[0], FreeFor::threads)) return false;
    return nest.try_apply(Reorder{order}).ok();
  }

  void order(uint32_t root) {
    const Nest &nest = nest_.nest();
    std::vector<uint32_t> now = movable_loops_from(nest, root);
    auto lines = [&](uint32_t l) { return lines_of(nest, now.back(), l); };
    auto best =
        std::min_element(now.begin(), now.end(), [&](uint32_t a, uint32_t b) { return lines(a) < lines(b); });
    std::vector<uint32_t> sorted = now, rotated = now;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](uint32_t a, uint32_t b) { return lines(a) > lines(b); });
    if (lines(now.back()) <= clearly * lines(*best)) {
      if (sorted[0] != now[0] && sorted.back() == now.back()) free_outermost(now, sorted);
      return;
    }
    auto at = std::find(rotated.begin(), rotated.end(), *best);
    std::rotate(at, at + 1, rotated.end());
    if (!exchange(nest_, now, sorted) && rotated != sorted) exchange(nest_, now, rotated);
  }

  /// Applies a new order if it makes a loop outermost that threads can share, in place of one that they
  /// cannot.
  void free_outermost(const std::vector<uint32_t> &now, const std::vector<uint32_t> &order) {
    bool gains = !nest_.is_free(now[0], FreeFor::threads) && nest_.is_free(order[0], FreeFor::threads);
    if (gains) nest_.try_apply(Reorder{order});
  }

  LoopNest &nest_;
};

}  // namespace

void permute_loops(LoopNest &nest) { LoopPermutation(nest).run(); }

}  // namespace kw
