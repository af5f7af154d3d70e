// Describes the loops of a scheduled kernel as findings of the kind "nest", with their estimated costs. For
// driver/explain; driver/missed_optimizations describes what was not done.
#pragma once

#include "driver/explain.h"
#include "schedule/schedule.h"

namespace kw {

/// Returns one finding for each loop of the scheduled `safe`: `dim` is its depth, `why` the cost of its own
/// statements.
std::vector<Finding> describe_loops(const Func &safe, const Schedule &schedule, const Target &target);

}  // namespace kw
