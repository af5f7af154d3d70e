// The registry and its calls for Python: the type of operators, their creation from Python functions, and
// gradients. Reads NumPy objects only through bind/dispatch/tensor.
#pragma once

#include <pybind11/pybind11.h>

namespace kw {

/// Adds the type `Operator`, the functions of the registry and those of gradients to the module.
void bind_operators(pybind11::module_ &m);

}  // namespace kw
