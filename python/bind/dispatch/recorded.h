// Requests and texts of kernels ↔ values of JSON, for manifests of warm-ups. Knows no files: kernelwright's
// warm/recording and warm/manifest read and write them.
#pragma once

#include <pybind11/pybind11.h>

#include "bind/dispatch/state.h"
#include "runtime/jit.h"

namespace kw {

/// Calls `recorder(request, source, functions)` for each version that a kernel compiles or loads from now on;
/// None ends it. The first two are dicts of JSON values. `functions` has (function, code) of the kernel and
/// of the functions that it calls; it is empty for kernels that are given as texts in C++.
void set_recorder(PyObject *recorder);
bool is_recording_versions();
/// Returns (kind, dtype, rank, stride class, alias) of an argument; an alias of -1 is none.
pybind11::tuple argument_to_python(const ArgSpec &a);
/// Tells the recorder of a version of a Python kernel.
void record_version(const KernelState &k, const Request &r, const SourceText &source);

/// Compiles a recorded version, or finds it in the cache. Returns (key, whether it was in the cache,
/// milliseconds). Null with an exception: ValueError for values that no recorder made, or the errors of the
/// kernel.
PyObject *compile_recorded(PyObject *request, PyObject *source);

}  // namespace kw
