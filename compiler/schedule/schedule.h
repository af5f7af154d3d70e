// A schedule as data: the directives that were applied to the loops of a kernel, and those that were wanted
// and refused. Runs the steps that choose them, one after another.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

/// One step of a scheduler. A back end has a table of them.
struct ScheduleStep {
  std::string_view name;  ///< the name in dumps and timings
  void (*run)(LoopNest &, const Target &);
  /// The step reads the whole nest again after each directive. Its time then grows with the square of
  /// the statements, so large kernels skip the step.
  bool reads_all = true;
};

/// Adapts a step that does not ask the target.
template <void (*step)(LoopNest &)>
void for_any(LoopNest &nest, const Target &) {
  step(nest);
}

struct Schedule {
  Func func;                            ///< the scheduled function
  std::vector<AppliedDirective> steps;  ///< its directives in their order, if they are recorded
  std::vector<Rejection> rejections;    ///< in the order in which they were wanted
  std::vector<FusedLoop> fused{};
  bool has_short_sums = false;  ///< the body branches between short sums and all other calls

  /// Return the loops of most calls, and the loops of calls with short sums (null if there is no such
  /// version).
  const Stmt &main() const;
  Stmt short_sums() const;
  /// Returns the loop that executes the iterations of a source loop: the loop itself, or the loop it was
  /// fused into.
  LoopId executor_of(LoopId loop) const;
};

/// Runs steps on a function. If a step requires a directive that is not legal, the loops stay as they are
/// written, and the function gets the warning W409. With `recorded` the schedule has `steps` and
/// `rejections`, which takes longer. Changes no order of a sum and no result.
Schedule run_schedule(const Func &f, const Target &target, std::span<const ScheduleStep> steps,
                      bool recorded);

/// Runs steps that rewrite a nest. If they require a directive that is not legal, restores the nest, adds
/// W409 to the warnings of its function, and returns false.
bool run_or_restore(LoopNest &nest, const std::function<void(LoopNest &)> &steps);

}  // namespace kw
