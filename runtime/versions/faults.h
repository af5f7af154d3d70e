// Converts errors of a call to diagnostics with source locations: shapes that an entry program refuses, and
// runs that end in a fault. Throws nothing.
#pragma once

#include <span>

#include "runtime/kernel.h"
#include "runtime/versions/entry.h"
#include "support/diagnostic.h"

namespace kw {

/// Returns E304 (a negative extent) or E224 (too many elements) for the output extent `index`.
Resolved extent_error(const LoadedKernel &kernel, size_t index, Code code, int64_t value);
/// Returns the error of an entry program that refused a call.
Resolved entry_error(const LoadedKernel &kernel, const EntryResult &r);
/// Returns the message of a site without its notes, in which bytes stand for the numbers of a fault
/// (fault_pattern.h).
std::string fault_pattern(const SiteRecord &s);
/// Returns the error of a run that faulted; `extents` are those of the arguments.
Resolved fault_error(const LoadedKernel &kernel, std::span<const int64_t> extents, const KwFault &fault);

}  // namespace kw
