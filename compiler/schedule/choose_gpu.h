// The steps that schedule a kernel for GPUs: they transform and permute loops for memory, then choose the
// loops that are launched.
#pragma once

#include "schedule/schedule.h"

namespace kw {

/// Returns the steps in the order in which they run. Each step leaves a form that the next one can use.
std::span<const ScheduleStep> gpu_steps();

}  // namespace kw
