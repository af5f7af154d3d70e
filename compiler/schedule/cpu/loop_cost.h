// Estimates the cost of each loop of a scheduled function by the register model, for reports. The estimate is
// a pure function of the function and the target. No choice depends on it.
#pragma once

#include <unordered_map>

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// The cost of one loop on one thread. Assumes that unknown extents are unknown_trips (256) and that all data
/// is in the L1 cache.
struct LoopCost {
  double runs = 0;   ///< executions of the body per call
  double bytes = 0;  ///< bytes that one iteration loads and stores, inner loops excluded
  /// Operations of one iteration, inner loops excluded. An fma counts 2, a function about as many as its
  /// expansion has.
  double operations = 0;
  double cycles = 0;          ///< cycles of one iteration, inner loops excluded
  int64_t sum_registers = 0;  ///< registers for 64 partial sums of each sum in the order `lanes`
};

std::unordered_map<const For *, LoopCost> cost_of_loops(const Func &f, const Target &target);

}  // namespace kw
