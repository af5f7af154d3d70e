// Warm-up: compiles kernels for types of arguments and stores them in the disk cache, without a call. Knows
// nothing of manifests, which hold requests and texts (bind/recorded).
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "bind/dispatch/state.h"

namespace kw {

/// Returns the target of a name; nothing with a ValueError.
std::optional<Target> target_from_name(const std::string &name);

/// Compiles or finds the bodies `main` and `plain` of a kernel for the types of the given arguments and each
/// target: "host" (the present one), "avx512", "avx2" or "generic", whether or not this processor runs it.
/// For each architecture of `devices`, "sm_90", makes the text and the machine code of the body `main`; no
/// GPU is needed. Returns a list of (target, body, key, whether it was in the cache, milliseconds). Null with
/// an exception.
pybind11::object warm_kernel(PyObject *kernel, const pybind11::tuple &args, const pybind11::dict &keywords,
                             const std::vector<std::string> &targets,
                             const std::vector<std::string> &devices);

}  // namespace kw
