// What went wrong in a call → an exception with its place in the source. Decides nothing: runtime/faults
// does.
#pragma once

#include <span>

#include "bind/state.h"
#include "runtime/launch.h"

namespace kw {

/// Raises an error of a call; returns false.
bool raise_in_call(const KernelState &k, const Resolved &error);
/// True for a run that ended well; else false with the exception. `extents` are those of the arguments.
bool end_run(const KernelState &k, const LoadedKernel &kernel, std::span<const int64_t> extents,
             const RunResult &r);

}  // namespace kw
