// Describes loops that no launch on a GPU shares among threads, and arithmetic that is slow there, with the
// reason, as findings of the kind "missed". For driver/explain.
#pragma once

#include <vector>

#include "driver/compile.h"
#include "driver/explain.h"
#include "schedule/schedule.h"

namespace kw {

/// Returns a finding "missed" for each outermost loop of which no launch shares iterations among threads, and
/// for each matrix product, which runs as any other sum; and for each line that computes in float64, if the
/// GPU has few units for that: many functions of float32 do. `safe` is the function before scheduling.
std::vector<Finding> describe_missed_launches(const Func &safe, const Schedule &schedule,
                                              const CompileInput &input);

}  // namespace kw
