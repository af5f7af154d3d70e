// Chooses the first loop on each path that scans.
#include "schedule/gpu/steps.h"

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/limits.h"
#include "schedule/gpu/first_loops.h"
#include "schedule/steps/steps.h"

namespace kw {

namespace {

/// Returns the nest with a loop in parts, if it scans; what an iteration hands to the next one by memory is a
/// scalar first.
std::optional<LoopNest> scanned_at(const LoopNest &nest, const Sym &iter) {
  LoopNest trial = nest;
  replace_carried_values(trial, {iter});
  auto loop = find_loop(trial.nest(), iter);
  if (!loop || !trial.try_apply(ScanLoop{*loop}).ok()) return std::nullopt;
  return trial;
}

}  // namespace

void scan_loops(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  auto choose = [&](const For &n, uint32_t loop) {
    auto trips = most_trips(n);
    bool is_long = !trips || *trips > static_cast<uint64_t>(sum_block);
    if (!is_long || n.hint == Hint::serial) return Choice::enter;
    if (nest.legal(Grid{loop, 1}).ok()) return Choice::leave;
    return scanned_at(nest, n.iter) ? Choice::take : Choice::enter;
  };
  for (const Sym &iter : first_loops(nest, choose))
    if (auto with = scanned_at(nest, iter)) nest = *with;
}

}  // namespace kw
