// What went wrong in a call → a diagnostic with its place in the source: entry programs that refuse shapes,
// runs that end in a fault. Raises nothing.
#pragma once

#include <span>

#include "runtime/kernel.h"
#include "runtime/versions/entry.h"
#include "support/diagnostic.h"

namespace kw {

/// E304 (a negative extent) or E224 (too many elements) of the output extent `index`.
Resolved extent_error(const LoadedKernel &kernel, size_t index, Code code, int64_t value);
/// What the entry program refused.
Resolved entry_error(const LoadedKernel &kernel, const EntryResult &r);
/// What a run stopped at; `extents` are those of the arguments.
Resolved fault_error(const LoadedKernel &kernel, std::span<const int64_t> extents, const KwFault &fault);

}  // namespace kw
