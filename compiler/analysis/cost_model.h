// The one table of what operations cost: read by estimates of work, by the scheduler and by code generation.
// Figures of machines are in support/machine.
#pragma once

#include "ir/intrinsics.h"

namespace kw {

/// The cost of an operation, in additions.
struct OperationCost {
  int64_t time;  ///< of one operation among independent ones
  int64_t code;  ///< instructions, with the guards that it needs
};

OperationCost cost_of(const Binary &n);
OperationCost cost_of(Fn fn);

/// The time of a load or store, in additions, where data do not come from the first cache.
inline constexpr int64_t time_of_access = 2;

}  // namespace kw
