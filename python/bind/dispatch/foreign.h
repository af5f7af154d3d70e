// Views arrays of other libraries as NumPy arrays over the same memory: by DLPack, else by the array
// interface. Copies nothing; knows nothing of kernels.
#pragma once

#include <string>

#include "bind/dispatch/state.h"

namespace kw {

/// Returns a NumPy array over the memory of an object that exports it. Returns null without an exception for
/// other objects; if NumPy cannot share the memory, `why` has the reason. Returns null with the exception if
/// the object raises RecursionError, MemoryError, or a non-Exception such as KeyboardInterrupt.
PyRef view_of_foreign(PyObject *o, std::string &why);

}  // namespace kw
