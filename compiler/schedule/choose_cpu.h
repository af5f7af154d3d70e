// The schedule of a kernel for CPUs, step by step: transforms and permutes loops for memory, then
// parallelizes and vectorizes them. Asks schedule/directives/legal before every choice. Changes no order of a
// sum and no result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/func.h"
#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

Func choose_cpu(const Func &f, const Target &target);

/// Runs steps that rewrite a nest. If they require a directive that is not legal, restores the nest, adds
/// W409 to the warnings of its function, and returns false.
bool run_steps(LoopNest &nest, const std::function<void(LoopNest &)> &steps);

/// What choose_cpu does to a function, and why.
struct CpuSchedule {
  Func func;                              ///< the scheduled function
  std::vector<std::string> directives;    ///< in the order of their application
  std::vector<RefusedDirective> refused;  ///< profitable but not legal, in the order asked
  std::vector<FusedLoop> fused{};
  Stmt short_sums{};  ///< the body of the version for short sums, or null

  /// Returns the loop that executes the iterations of a source loop: itself, or the one it was fused into.
  LoopId executor_of(LoopId loop) const;
};
CpuSchedule schedule_for_cpu(const Func &f, const Target &target);

}  // namespace kw
