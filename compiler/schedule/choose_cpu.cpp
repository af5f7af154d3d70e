// The table of steps, and the step that runs the steps before it on a second version of the kernel.
#include "schedule/choose_cpu.h"

#include "schedule/cpu/short_sums.h"
#include "schedule/cpu/steps.h"
#include "schedule/steps/steps.h"
#include "schedule/steps/unroll_hints.h"

namespace kw {

namespace {

// Declared before the table, in which the step stands and which it reads.
void version_short_sums(LoopNest &nest, const Target &target);

/// Peels, then unrolls: the loops that peeling leaves at the boundaries may be short enough.
void peel_and_unroll(LoopNest &nest) {
  if (peel_boundaries(nest)) unroll_small_loops(nest);
}

constexpr ScheduleStep cpu_table[] = {
    {"distribute_reductions", for_any<distribute_reductions>},
    {"split_index_sets", for_any<split_index_sets>},
    {"fuse_loops", for_any<fuse_loops>},
    {"unroll_small_loops", for_any<unroll_small_loops>},
    {"peel_boundaries", for_any<peel_and_unroll>},
    {"permute_loops", for_any<permute_loops>},
    {"tile_transposed_accesses", for_any<tile_transposed_accesses>},
    {"strip_mine_column_reductions", strip_mine_column_reductions},
    {"separate_sums", separate_sums},
    {"unroll_and_jam", unroll_and_jam},
    {"vectorize_and_parallelize", vectorize_and_parallelize, false},
    {"version_short_sums", version_short_sums, false},
    {"scalar_replacement", for_any<scalar_replacement>, false},
    {"unroll_hints", for_any<unroll_hinted>, false},
    {"plan_loops", plan_loops, false},
};
constexpr size_t steps_of_a_version = 11;  // the steps before version_short_sums
static_assert(cpu_table[steps_of_a_version].run == version_short_sums);

/// Schedules a version for calls with short sums, and keeps it if more of it is vectorized.
void version_short_sums(LoopNest &nest, const Target &target) {
  std::optional<ShortSums> version = short_sums(nest.original());
  if (!version) return;
  // The steps after this one rewrite both versions in one nest.
  std::span<const ScheduleStep> list = std::span(cpu_table).first(steps_of_a_version);
  Schedule scheduled = run_schedule(version->func, target, list, nest.is_recording());
  if (!vectorizes_more(scheduled.func, nest.func())) return;
  nest.add_version(with_short_sums(nest.func(), version->condition, scheduled.func),
                   std::move(scheduled.steps));
}

}  // namespace

std::span<const ScheduleStep> cpu_steps() { return cpu_table; }

}  // namespace kw
