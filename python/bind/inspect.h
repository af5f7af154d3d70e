// What methods of kernels show of the compiler's work: stages, and explanations for each compiled version.
// It computes everything anew from the source; calls never come here.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "bind/dispatch/state.h"

namespace kw {

/// Text of a stage (runtime/jit.h) for the types of the given call arguments, else of the last call. Null
/// with an exception.
pybind11::object inspect_kernel(PyObject *kernel, const pybind11::tuple &args, const pybind11::dict &keywords,
                                const std::string &stage);
/// A list with one dict for the given arguments, or for each version that was compiled for the captured
/// values in force; kernelwright/explain.py gives them names. Null with an exception.
pybind11::object explain_kernel(PyObject *kernel, const pybind11::tuple &args,
                                const pybind11::dict &keywords);

}  // namespace kw
