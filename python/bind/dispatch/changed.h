// Detects arrays that are changed during a call: by Python code that the call runs, or by other threads while
// a kernel is compiled. Changes of their elements are allowed.
#pragma once

#include "bind/dispatch/args.h"

namespace kw {

/// Compares all arrays of the call with the values read from them. Must come last before a run, after all
/// Python code. `outputs` are those of the run. Returns false with E222 if the memory or the shape of an
/// array has changed.
bool check_unchanged(const KernelState &k, const CallFrame &f, std::span<PyObject *const> outputs);

}  // namespace kw
