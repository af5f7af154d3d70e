// The Python type of kernels: vectorcall from Python objects to kw_entry and back. kernelwright/kernel.py
// attaches the rarely used methods.
#pragma once

#include <Python.h>
#include <structmember.h>

#include <optional>

#include "bind/dispatch/args.h"
#include "runtime/calls/loop_kernel.h"
#include "runtime/calls/registry.h"
#include "runtime/launch.h"

namespace kw {

/// Creates the type `kernelwright._core.Kernel`. Returns null with an exception.
PyObject *make_kernel_type();
/// Returns the state of a kernel object; null with a TypeError for another object.
KernelState *state_of(PyObject *kernel);
/// Binds the arguments of a call. Parameters with `*` are refused by name, not by a wrong argument count.
/// Returns false with an exception.
bool bind_call(KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames, CallFrame &f);
/// Notes written arguments that are the same view as another argument, if an existing plan says which
/// arguments are written. Returns false with an exception.
bool note_same_views(KernelState &k, CallFrame &f);

/// Finds or makes the plan of a call. If written arguments are the same views as others, it is the plan for
/// such calls, and `f` says so. Returns false with an exception.
bool choose_plan(KernelState &k, CallFrame &f, PlanPin &plan);
/// Obtains another body than `main`, which is compiled at its first use. Returns false with an exception.
bool need_body(KernelState &k, CallPlan &plan, Body body);

/// The fast path of a kernel that an operator calls with tensors, without arrays in between. Runs the kernel
/// on tensors with the types and extents of its last call and returns the outputs. Returns nothing for other
/// calls, which go through arrays like calls from Python, and for kernels that return more than their
/// outputs. An empty list means that Python raised.
std::optional<std::vector<Tensor>> fast_call(PyObject *kernel, std::span<const Tensor> tensors);

/// Computes the types of the results of a kernel. Compiles it for the arguments, but does not run it. Returns
/// false with an exception.
bool infer_outputs(KernelState &k, PyObject *const *args, size_t nargs, std::vector<TensorType> &out);
/// The runtime's Runner: if the thread holds the GIL, it runs a kernel as calls from Python do.
RunResult run_for_cpp(const LoadedKernel &kernel, int64_t work, const CallWords &words);

}  // namespace kw
