// What went wrong in a call → an exception with its place in the source: entry programs that refuse shapes,
// runs that end in a fault. Decides nothing.
#pragma once

#include <span>

#include "bind/state.h"
#include "runtime/entry.h"
#include "runtime/launch.h"

namespace kw {

/// Raises E304 (a negative extent) or E224 (too many elements) of the output extent `index`; returns false.
bool raise_extent_error(const KernelState &k, const LoadedKernel &kernel, size_t index, Code code,
                        int64_t value);
/// Raises what the entry program refused; returns false.
bool raise_entry_error(const KernelState &k, const LoadedKernel &kernel, const EntryResult &r);
/// True for a run that ended well; else false with the exception. `extents` are those of the arguments.
bool end_run(const KernelState &k, const LoadedKernel &kernel, std::span<const int64_t> extents,
             const RunResult &r);

}  // namespace kw
