// Operators whose kernels, inference and gradients are Python functions: builds their rows for the registry.
// Calls no operator.
#pragma once

#include <pybind11/pybind11.h>

#include "runtime/calls/registry.h"

namespace kw {

/// Makes an operator from the description of kernelwright/operators.py: name, source, inputs, outputs, attrs,
/// infer, kernels, bprop and its check. Adds it to the registry if `is_registered`. Throws OpError.
std::shared_ptr<const Operator> operator_from_python(const pybind11::dict &spec, bool is_registered);

/// Sets whether checkers of bprops get every result, or only results that are certainly wrong.
void check_gradients(bool all);

}  // namespace kw
