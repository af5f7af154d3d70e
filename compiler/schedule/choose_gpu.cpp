// The table of steps.
#include "schedule/choose_gpu.h"

#include "schedule/gpu/steps.h"
#include "schedule/steps/steps.h"
#include "schedule/steps/unroll_hints.h"

namespace kw {

namespace {

constexpr ScheduleStep gpu_table[] = {
    {"fuse_loops", for_any<fuse_loops>},
    {"unroll_small_loops", for_any<unroll_small_loops>},
    {"permute_loops", for_any<permute_loops>},
    {"order_loops", order_loops, false},
    {"rfactor_sums", rfactor_sums, false},
    {"scan_loops", scan_loops, false},
    {"privatize_bins", privatize_bins, false},
    {"fold_fills", fold_fills, false},
    {"map_grids", map_grids, false},
    {"cache_rows", cache_rows, false},
    {"stage_chains", stage_chains, false},
    {"scalar_replacement", for_any<scalar_replacement>, false},
    {"unroll_loads", unroll_loads, false},
    {"unroll_hints", for_any<unroll_hinted>, false},  // of loops that no step above has replaced
};

}  // namespace

std::span<const ScheduleStep> gpu_steps() { return gpu_table; }

}  // namespace kw
