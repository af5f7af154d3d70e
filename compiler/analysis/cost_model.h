// The table of operation costs, shared by estimates of work, the scheduler and code generation. Figures of
// machines are in support/machine.
#pragma once

#include "ir/intrinsics.h"

namespace kw {

/// The cost of an operation, in additions.
struct OperationCost {
  int64_t time;  ///< the time of one operation among independent ones
  int64_t code;  ///< instructions, guards included
};

OperationCost cost_of(const Binary &n);
OperationCost cost_of(Fn fn);

/// The time of a load or store, in additions, if the data are not in the L1 cache.
inline constexpr int64_t time_of_access = 2;

}  // namespace kw
