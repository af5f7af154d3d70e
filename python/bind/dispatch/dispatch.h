// The Python type of kernels: vectorcall from Python objects to kw_entry and back. Cold methods are attached
// by kernelwright/kernel.py.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "bind/dispatch/args.h"
#include "runtime/calls/registry.h"
#include "runtime/launch.h"

namespace kw {

/// Creates the type `kernelwright._core.Kernel`; null with an exception.
PyObject *make_kernel_type();
/// The state of a kernel object; null with a TypeError for another object.
KernelState *state_of(PyObject *kernel);
/// Binds the arguments of a call; parameters with `*` are refused as such, not by the count that they
/// confuse. False with an exception.
bool bind_call(KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames, CallFrame &f);
/// Notes the written arguments that are the same view as another one, when a version that was called tells
/// which are written. False with an exception.
bool note_same_views(KernelState &k, CallFrame &f);

/// The types of what a kernel would return for arguments, which it is compiled for but not run. False with an
/// exception.
bool infer_outputs(KernelState &k, PyObject *const *args, size_t nargs, std::vector<TensorType> &out);
/// The runtime's Runner: as calls from Python run, when the thread holds the GIL.
RunResult run_for_cpp(const LoadedKernel &kernel, int64_t work, const CallWords &words);

}  // namespace kw
