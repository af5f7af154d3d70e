// The schedule of a kernel for CPUs, step by step (schedule/cpu): the loops are brought into a form and an
// order that suits memory, and then run on several threads and in vector registers. Every choice is asked of
// schedule/directives/legal first. Changes no order of a sum and no result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/func.h"
#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

Func choose_cpu(const Func &f, const Target &target);

/// Runs steps that rewrite a nest. When they require what is not legal, the nest is again as it was, W409 is
/// among the warnings of its function, and the result is false.
bool run_steps(LoopNest &nest, const std::function<void(LoopNest &)> &steps);

/// What choose_cpu does to a function, and how it came to that.
struct CpuSchedule {
  Func func;                            ///< as choose_cpu gives it
  std::vector<std::string> directives;  ///< in the order of their application
  size_t rewrites = 0;  ///< so many of them come first; the others say what lanes and threads run
  std::vector<RefusedDirective> refused;  ///< those that would have gained, in the order of the questions
  std::vector<FusedLoop> fused{};
  Stmt short_sums{};  ///< the body of the version for sums of few terms, where there is one

  /// The place of the iterator that runs a loop's iterations: its own, or that of the loop it became part of.
  Loc iterator_of(const For &loop) const;
};
CpuSchedule schedule_for_cpu(const Func &f, const Target &target);

}  // namespace kw
