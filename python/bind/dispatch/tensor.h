// The Python type of the runtime's tensors, and their way to NumPy and back. Classes of Python derive from it
// and add what users see; this adds no arithmetic.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "runtime/tensor.h"

namespace kw {

/// Creates the type `kernelwright._core.Tensor`; null with an exception.
PyObject *make_tensor_type();

/// The tensor of an object of that type; null, without an exception, for other objects.
const Tensor *tensor_of(PyObject *o);
/// A tensor object of a class that derives from the type; null with an exception.
PyObject *wrap_tensor(PyTypeObject *type, Tensor t);
/// The class that results of a call with this object have: the nearest one of its classes that was given to
/// set_result_class; null when there is none.
PyTypeObject *result_class(PyObject *o);
void add_result_class(PyTypeObject *type);  ///< kept for good
PyTypeObject *default_result_class();       ///< the first one that was added

/// A tensor over the memory of an array (or of a copy of a number), which it keeps alive: arrays of our
/// dtypes in native byte order, whose strides are multiples of their items; other strides are copied. None
/// with a TypeError for others; `name` is what the array is called there.
/// `copied` is set when it is over a copy.
Tensor tensor_over(PyObject *array, const char *name, bool *copied = nullptr);
/// An array over the tensor's memory, which it keeps alive; null with an exception.
/// `writable`: as far as the memory is.
PyObject *array_over(const Tensor &t, bool writable = true);
/// An array, or a number of NumPy.
bool is_array_like(PyObject *o);

}  // namespace kw
