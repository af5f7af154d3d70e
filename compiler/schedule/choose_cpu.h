// The steps that schedule a kernel for CPUs: they transform and permute loops for memory, then parallelize
// and vectorize them.
#pragma once

#include "schedule/schedule.h"

namespace kw {

/// Returns the steps in the order in which they run. Each step leaves a form that the next one can use.
std::span<const ScheduleStep> cpu_steps();

}  // namespace kw
