// Arrays of other libraries, seen as NumPy arrays over the same memory: by DLPack, else by the array
// interface. Copies nothing; knows nothing of kernels.
#pragma once

#include <string>

#include "bind/dispatch/state.h"

namespace kw {

/// A NumPy array over the memory of an object that exports it; null without an exception for other objects
/// and, with the reason in `why`, for memory that NumPy cannot share. Null with the exception where the
/// object ends in RecursionError, MemoryError, or one that is no Exception, as KeyboardInterrupt.
PyRef view_of_foreign(PyObject *o, std::string &why);

}  // namespace kw
