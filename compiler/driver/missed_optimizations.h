// Describes what the scheduler tried and did not do, with the reason, as findings of the kind "missed". These
// are loops that are not parallelized or not vectorized, and refused directives. For driver/explain.
#pragma once

#include "driver/explain.h"
#include "schedule/schedule.h"

namespace kw {

std::vector<Finding> describe_missed(const Func &safe, const Schedule &schedule, const CompileInput &input);

}  // namespace kw
