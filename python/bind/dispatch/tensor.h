// The Python type of the runtime's tensors, and their conversion to and from NumPy. Python classes derive
// from it and add the public interface; this file adds no arithmetic.
#pragma once

#include <Python.h>

#include "runtime/tensor.h"

namespace kw {

/// Creates the type `kernelwright._core.Tensor`. Returns null with an exception.
PyObject *make_tensor_type();

/// Returns the tensor of an object of that type; null, without an exception, for other objects.
const Tensor *tensor_of(PyObject *o);
/// Returns a tensor object of a class that derives from the type; null with an exception.
PyObject *wrap_tensor(PyTypeObject *type, Tensor t);
/// Returns the class of the results of a call with this object: the nearest of its classes that was added as
/// a result class; null if there is none.
PyTypeObject *result_class(PyObject *o);
void add_result_class(PyTypeObject *type);  ///< keeps the class forever
PyTypeObject *default_result_class();       ///< the class added first

/// Releases a reference from any thread. While the interpreter ends, the object is leaked.
void release_object(PyObject *o);

/// Returns a tensor over the memory of an array or of a copy of a number, and keeps that object alive.
/// Accepts arrays of our dtypes in native byte order; irregular strides are copied. Returns an empty Tensor
/// with a TypeError for others, which calls the array `name`. Sets `copied` if the memory is a copy.
Tensor tensor_over(PyObject *array, const char *name, bool *copied = nullptr);
/// Counts a write through an array, if it is one over the memory of a tensor.
void note_write_through(PyObject *array);
/// Drops the history of a tensor object. Other handles of the tensor keep theirs.
void forget_history(PyObject *o);
/// Returns an array over the tensor's memory, which it keeps alive; null with an exception. `writable`: if
/// the memory is writable, the array is too.
PyObject *array_over(const Tensor &t, bool writable = true);
/// Returns whether an object is an array of NumPy.
bool is_array(PyObject *o);
/// Returns whether an object is an array or a number of NumPy.
bool is_array_like(PyObject *o);

}  // namespace kw
