// Describes loops that no launch on a GPU shares among threads, and arithmetic that is slow there, with the
// reason, as findings of the kind "missed". For driver/explain.
#pragma once

#include <vector>

#include "driver/compile.h"
#include "driver/explain.h"
#include "schedule/schedule.h"

namespace kw {

/// Returns a finding "missed" for each outermost loop of which no launch shares iterations among threads, and
/// for each matrix product, which runs as any other sum. `safe` is the function before scheduling.
std::vector<Finding> describe_missed_launches(const Func &safe, const Schedule &schedule,
                                              const CompileInput &input);

/// Returns a finding "missed" for each line that computes in float64, if the GPU has few units for that. Many
/// functions of float32 are expanded to arithmetic in float64. `lowered` is what the code is emitted from.
std::vector<Finding> describe_float64(const Func &lowered, const CompileInput &input);

}  // namespace kw
