// Gradients for Python: recording, variables, the backward pass, and all of them in one call, which is cheap
// enough for a training loop. Knows no operator.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "runtime/tensor.h"

namespace kw {

/// Returns the tensors of a sequence; empty ones for None. Throws like tensor_from_python.
std::vector<Tensor> tensors_from(pybind11::handle list);

/// Adds set_recording, make_variable, gradients and differentiate to the module.
void bind_gradients(pybind11::module_ &m);

}  // namespace kw
