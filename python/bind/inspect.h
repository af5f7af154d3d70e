// The compiler's work as methods of kernels show it: stages, and explanations for each compiled
// specialization. Computes everything again from the source; calls never come here.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "bind/dispatch/args.h"

namespace kw {

/// Binds and reads the arguments of a call, which must outlive `f`. Returns false with an exception.
bool read_call(KernelState &k, const pybind11::tuple &args, const pybind11::dict &keywords, CallFrame &f);

/// Returns the text of a stage (runtime/jit.h) for the types of the given call arguments, else of the last
/// call. Null with an exception.
pybind11::object inspect_kernel(PyObject *kernel, const pybind11::tuple &args, const pybind11::dict &keywords,
                                const std::string &stage);
/// Returns what a call with these arguments computes and moves (analysis/work), and its types, as a
/// dict. Null with an exception.
pybind11::object count_kernel(PyObject *kernel, const pybind11::tuple &args, const pybind11::dict &keywords);
/// Returns a list with one dict for the given arguments, or for each compiled specialization of the present
/// captured values. kernelwright/explain.py names the entries. Null with an exception.
/// `device`: "" or an architecture of GPUs, which need not be here.
pybind11::object explain_kernel(PyObject *kernel, const pybind11::tuple &args, const pybind11::dict &keywords,
                                const std::string &device = {});

/// Returns the target of an architecture of GPUs, or of a GPU at hand: "cuda", "cuda:1"; nothing for other
/// names. Throws ResolvedError, E501, for a GPU that is not there.
std::optional<Target> device_target(std::string_view name);
/// Returns the message for a name that is no architecture of GPUs.
std::string unknown_device(std::string_view name);

}  // namespace kw
