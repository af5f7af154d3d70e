// The short way of a kernel that an operator calls with tensors: no arrays in between. What it does not
// recognise goes through arrays, as calls from Python do.
#pragma once

#include <optional>
#include <span>

#include "bind/state.h"
#include "runtime/loop_kernel.h"

namespace kw {

/// The results of a kernel object for operands that it was called with before, by their types and extents;
/// nothing for other calls, and for kernels that write arguments. An empty list: Python raised.
std::optional<std::vector<Tensor>> call_again(PyObject *kernel, std::span<const Operand> operands);

}  // namespace kw
