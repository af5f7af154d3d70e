// Gradients for Python: recording, variables, the way back, and all of it in one call, which is what a
// gradient in a loop of training costs. Knows no operator.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "runtime/tensor.h"

namespace kw {

/// The tensors of a sequence; none for None. Throws what tensor_from_python throws.
std::vector<Tensor> tensors_from(pybind11::handle list);

/// Adds set_recording, make_variable, gradients and differentiate to the module.
void bind_gradients(pybind11::module_ &m);

}  // namespace kw
