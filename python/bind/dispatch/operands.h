// The short way of a kernel that an operator calls with tensors: no arrays in between. What it does not
// recognise goes through arrays, as calls from Python do.
#pragma once

#include <optional>
#include <span>

#include "bind/dispatch/state.h"
#include "runtime/calls/loop_kernel.h"

namespace kw {

/// The outputs of a kernel object for tensors of the types and extents that it was called with last; nothing
/// for other calls, and for kernels that return more than their outputs. An empty list: Python raised.
std::optional<std::vector<Tensor>> fast_call(PyObject *kernel, std::span<const Tensor> tensors);

}  // namespace kw
