// A pass is a name and a function from IR to IR. One runner times, dumps and verifies all passes; no pass
// prints.
#pragma once

#include <span>
#include <string_view>

#include "ir/func.h"
#include "support/target.h"

namespace kw {

struct Pass {
  std::string_view name;
  Func (*run)(const Func &, const Target &);
};

/// Runs the passes in order. Verifies the IR after each one (in debug builds, or with KW_DEBUG verify=each)
/// and dumps it on request. A violation is an internal error that names the pass.
Func run_passes(std::span<const Pass> passes, Func f, const Target &target);

/// Measures one stage, without the time for reporting and verifying the stages inside it.
class StageClock {
 public:
  StageClock();
  /// Returns the milliseconds since construction.
  double ms() const;

 private:
  double begin_;
};

/// Reports a pass or a step of a schedule, and verifies what it made as run_passes does.
void finish_stage(std::string_view stage, const Func &f, double ms);

/// Dumps and times a stage that is not a pass ("lower", "emit"). A negative `ms` means not timed.
void report_stage(std::string_view stage, const Func &f, double ms);
/// Reports the time of a stage without IR.
void report_time(std::string_view stage, const std::string &kernel, double ms);

/// Returns the time of a steady clock in milliseconds.
double now_ms();

}  // namespace kw
