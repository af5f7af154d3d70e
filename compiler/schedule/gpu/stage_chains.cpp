// Looks at loops that no launch, and no team, shares.
#include "schedule/gpu/steps.h"

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "schedule/steps/steps.h"

namespace kw {

/// Iterations for which copies take longer than they save. Chosen.
static constexpr uint64_t most_short = 256;

void stage_chains(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  std::vector<Sym> chosen;
  for (const NestLoop &l : nest.nest().loops) {
    if (!l.loop || l.loop->kind != ForKind::serial || l.loop->hint != Hint::none) continue;
    auto trips = most_trips(*l.loop);
    if (l.loop->how.max_trips > 0) trips = static_cast<uint64_t>(l.loop->how.max_trips);
    if (!trips || *trips > most_short) chosen.push_back(l.loop->iter);
  }
  for (const Sym &iter : chosen) {
    LoopNest trial = nest;
    // What an iteration hands to the next by memory would be no copy of a part.
    replace_carried_values(trial, {iter});
    auto loop = find_loop(trial.nest(), iter);
    if (loop && trial.try_apply(StageChain{*loop}).ok()) nest = trial;
  }
}

}  // namespace kw
