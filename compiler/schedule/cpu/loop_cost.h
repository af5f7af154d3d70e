// What each loop of a scheduled function costs, as the model of registers sees it: a pure function of the
// target, for those who want to know. Nothing is chosen by it.
#pragma once

#include <unordered_map>

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// One loop on one thread. Each size that is not known counts unknown_trips, and all data is near.
struct LoopCost {
  double runs = 0;   ///< of its body, in a call
  double bytes = 0;  ///< that the statements of an iteration load and store, without those of inner loops
  double operations =
      0;              ///< of these statements: an fma is two, a function as many as its expansion about has
  double cycles = 0;  ///< of these statements
  int64_t sum_registers = 0;  ///< that its sums in lanes take, a whole row of them
};

std::unordered_map<const For *, LoopCost> cost_of_loops(const Func &f, const Target &target);

}  // namespace kw
