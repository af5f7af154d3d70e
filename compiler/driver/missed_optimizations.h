// What a schedule would have done and did not, with the reason, as findings of the kind "missed": loops that
// neither run on threads nor in lanes, and directives that were refused. For driver/explain.
#pragma once

#include "driver/explain.h"
#include "schedule/choose_cpu.h"

namespace kw {

std::vector<Finding> describe_undone(const Func &safe, const CpuSchedule &schedule,
                                     const CompileInput &input);

}  // namespace kw
