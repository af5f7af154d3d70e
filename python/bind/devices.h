// What Python asks of the GPUs of the process: whether there are any, their streams and memory, and waits.
// Binds runtime/cuda; kernelwright.cuda is its public form.
#pragma once

#include <Python.h>

namespace kw {

/// Adds the functions to the module. Returns false with an exception.
bool add_device_functions(PyObject *module);

}  // namespace kw
