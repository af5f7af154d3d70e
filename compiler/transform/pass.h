// A pass is a name and a function from IR to IR. The runner times, dumps and verifies all of them alike; no
// pass prints.
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

/// Runs the passes in order. After each one the IR is verified (in debug builds, or with KW_DEBUG
/// verify=each) and, when asked for, dumped; a violation is an internal error that names the pass.
Func run_passes(std::span<const Pass> passes, Func f, const Target &target);

/// Dumps and times one stage that is no pass ("lower", "emit"); `ms` below zero means not timed.
void report_stage(std::string_view stage, const Func &f, double ms);
/// The time alone, of a stage without IR to show.
void report_time(std::string_view stage, const std::string &kernel, double ms);

/// Milliseconds of a steady clock.
double now_ms();

}  // namespace kw
