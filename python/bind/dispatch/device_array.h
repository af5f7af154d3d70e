// Arrays of other libraries on a GPU, by the CUDA array interface (version 3 of its description by Numba):
// tensors over their memory, and the description of our own tensors. Copies nothing.
#pragma once

#include "bind/dispatch/state.h"
#include "runtime/tensor.h"

namespace kw {

/// Returns a tensor object over the memory of an object that has the interface. The stream of this thread
/// waits for the stream that the object names. Returns null without an exception for other objects, and null
/// with a TypeError for a description that is malformed or of a dtype that operators do not have.
PyRef tensor_of_cuda_array(PyObject *o);

/// Returns the description of a tensor on a GPU; null with an AttributeError for others.
PyObject *cuda_array_interface(const Tensor &t);

}  // namespace kw
