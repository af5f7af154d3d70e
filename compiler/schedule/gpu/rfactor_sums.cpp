// Chooses the first loop on each path that reduces.
#include "schedule/gpu/steps.h"

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/limits.h"
#include "schedule/gpu/first_loops.h"

namespace kw {

void rfactor_sums(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  auto choose = [&](const For &n, uint32_t loop) {
    auto trips = most_trips(n);
    bool is_small = trips && *trips < static_cast<uint64_t>(warp_threads);
    Verdict v = nest.legal(Grid{loop, 1});
    if (v.ok() && v.accumulators.empty() && !is_small) return Choice::leave;
    // One team is as fast for a loop that surely fits a block.
    bool is_long = !trips || *trips > static_cast<uint64_t>(sum_block);
    bool fits = n.hint != Hint::serial && is_long && nest.legal(Rfactor{loop}).ok();
    return fits ? Choice::take : Choice::enter;
  };
  for (const Sym &iter : first_loops(nest, choose)) nest.try_apply(Rfactor{*find_loop(nest.nest(), iter)});
}

}  // namespace kw
