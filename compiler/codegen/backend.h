// A back end: its name, the steps of its scheduler, its lowering passes, and one function that turns IR into
// code. The table is literal; back ends never see each other.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/artifact.h"
#include "schedule/schedule.h"
#include "transform/pass.h"

namespace kw {

struct Backend {
  std::string_view name;
  std::span<const ScheduleStep> steps;  ///< scheduling steps; none: loops run as they are written
  std::span<const Pass> lowering;
  CodeKind code_kind;
  /// Returns the code of the artifact; with places, with line tables. Throws CompileError.
  EmittedCode (*emit)(const Func &, const Target &, const SourcePlaces *);
  /// Starts set-up that takes time, shortly before a compile; returns at once.
  void (*prepare)(const Target &);

  /// Schedules a safe function. A recorded schedule lists its directives and what was refused.
  Schedule schedule(const Func &f, const Target &target, bool recorded = false) const {
    return run_schedule(f, target, steps, recorded);
  }
};

/// Returns the back end "llvm", "interp", "interp_lowered", "interp_gpu" or "cuda"; throws an internal error
/// for other names.
const Backend &find_backend(std::string_view name);

}  // namespace kw
