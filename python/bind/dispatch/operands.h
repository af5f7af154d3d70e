// The fast path of a kernel that an operator calls with tensors, without arrays in between. Calls that it
// does not recognize go through arrays, like calls from Python.
#pragma once

#include <optional>
#include <span>

#include "bind/dispatch/state.h"
#include "runtime/calls/loop_kernel.h"

namespace kw {

/// Runs a kernel object on tensors with the types and extents of its last call and returns the outputs.
/// Returns nothing for other calls and for kernels that return more than their outputs. An empty list means
/// that Python raised.
std::optional<std::vector<Tensor>> fast_call(PyObject *kernel, std::span<const Tensor> tensors);

}  // namespace kw
