// Describes loops that no launch on a GPU shares among threads, with the reason, as findings of the kind
// "missed". For driver/explain.
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

}  // namespace kw
