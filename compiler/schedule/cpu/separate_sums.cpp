// Tries one loop after the other on a copy of the nest. Keeps the copy if vectorize_and_parallelize then
// vectorizes more.
#include "schedule/cpu/steps.h"

#include "analysis/nest/reduce.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/walk.h"
#include "schedule/cpu/short_sums.h"
#include "schedule/steps/distribute_loops.h"

namespace kw {

namespace {

/// Iterations of a tile. Chosen: the arrays of at most four expanded scalars take 2 KB at 8 bytes an element,
/// so that they stay in the L1 cache.
constexpr int64_t stretch = 64;

/// Returns whether loops inside `n` hold both sums in the order `lanes` and float sums in other orders. No
/// sum in the order `lanes` may run over `n` itself.
bool has_both(const For &n) {
  bool lanes = false, in_order = false, counts = false;
  for_each_store(n.body, [&](const Stmt &, const Store &s, const std::vector<const For *> &inner) {
    counts |= s.order.names(n.iter);
    if (inner.empty()) return;
    lanes |= s.order == Order::lanes;
    // A maximum does not count: its own loop can be vectorized.
    bool sums = s.order != Order::lanes && is_sum_or_product(reduction_of(s, inner).mark.kind);
    in_order |= sums && s.index.empty() && is_float(s.buf->dtype);
  });
  return lanes && in_order && !counts;
}

bool may_be_cut(const For &n) {
  if (n.kind != ForKind::serial || n.hint == Hint::serial || n.step != 1 || !has_both(n)) return false;
  auto trips = constant_trips(n);
  if (trips && *trips < static_cast<uint64_t>(stretch)) return false;
  bool inner = false;
  walk(n.body, [&](const For &l, const Stmt &) { inner |= has_both(l); });
  return !inner;
}

bool separate(LoopNest &nest, const Sym &iter) {
  std::optional<Sym> around = tile_parallel(nest, iter, stretch);
  return around && expand_scalars(nest, iter) && distribute_all(nest, *around, 0);
}

}  // namespace

void separate_sums(LoopNest &nest, const Target &target) {
  std::vector<Sym> found;
  for (const NestLoop &l : nest.nest().loops)
    if (l.loop && may_be_cut(*l.loop)) found.push_back(l.loop->iter);
  for (const Sym &iter : found) {
    LoopNest cut = nest;
    if (!separate(cut, iter)) continue;
    LoopNest after = cut, before = nest;
    after.record(false), before.record(false);
    vectorize_and_parallelize(after, target), vectorize_and_parallelize(before, target);
    if (vectorizes_more(after.func(), before.func())) nest = std::move(cut);
  }
}

}  // namespace kw
