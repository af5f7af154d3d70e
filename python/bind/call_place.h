// Finds the line of a Python program that calls a kernel: for errors of kernels on a GPU, which come after
// the call has returned.
#pragma once

#include "runtime/cuda/call_place.h"

namespace kw {

/// Returns the line of the innermost frame of this thread whose code is not the package's own. Returns null
/// in threads without the GIL, without such a frame, and for further places once 4,096 are known. For
/// set_call_place_finder.
const CallPlace *find_python_call();

/// Notes the folder of the package, with a "/" at its end.
void set_package_folder(std::string folder);

}  // namespace kw
