// The loops of a scheduled kernel as findings of the kind "nest", with what the model says of each. For
// driver/explain; driver/missed_optimizations tells what was not done.
#pragma once

#include "driver/explain.h"
#include "schedule/choose_cpu.h"

namespace kw {

/// One finding for each loop that `safe` runs by its schedule: `dim` is its depth, `why` what its own
/// statements cost.
std::vector<Finding> describe_loops(const Func &safe, const CpuSchedule &schedule, const Target &target);

}  // namespace kw
