// Chooses the first loop on each path whose threads accumulate in what others do.
#include "schedule/gpu/steps.h"

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/limits.h"
#include "schedule/gpu/first_loops.h"

namespace kw {

void privatize_bins(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  auto choose = [&](const For &n, uint32_t loop) {
    if (n.kind != ForKind::serial || n.hint == Hint::serial) return Choice::leave;
    auto trips = most_trips(n);
    bool is_small = trips && *trips <= static_cast<uint64_t>(sum_block);  // one copy costs as much
    Verdict v = nest.legal(Grid{loop, 1});
    if (v.ok() && v.accumulators.empty()) return Choice::leave;
    return v.ok() && !is_small && nest.legal(PrivateBins{loop}).ok() ? Choice::take : Choice::enter;
  };
  for (const Sym &iter : first_loops(nest, choose))
    nest.try_apply(PrivateBins{*find_loop(nest.nest(), iter)});
}

}  // namespace kw
