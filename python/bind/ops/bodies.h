// Operators whose kernels, inference and gradients are Python functions: what the registry holds of them.
// Calls no operator.
#pragma once

#include <pybind11/pybind11.h>

#include "runtime/calls/registry.h"

namespace kw {

/// An operator of what kernelwright/operators.py tells: name, source, inputs, outputs, attrs, infer, kernels,
/// bprop and its check. Into the registry or on its own; throws OpError.
std::shared_ptr<const Operator> operator_from_python(const pybind11::dict &spec, bool is_registered);

/// Whether checkers of bprops get what these return each time, or only what cannot be right.
void check_gradients(bool all);

}  // namespace kw
