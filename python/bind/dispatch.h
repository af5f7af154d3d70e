// The Python type of kernels: vectorcall from Python objects to kw_entry and back. Cold methods are attached
// by kernelwright/kernel.py.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "bind/state.h"

namespace kw {

/// Creates the type `kernelwright._core.Kernel`; null with an exception.
PyObject *make_kernel_type();
/// The state of a kernel object; null with a TypeError for another object.
KernelState *state_of(PyObject *kernel);
/// Text of a stage ("lower", "final", "llvm", "asm") for the given call arguments; null with an exception.
PyObject *inspect_kernel(PyObject *kernel, PyObject *args, const char *stage);

}  // namespace kw
