// Conversion of values of operator calls between C++ and Python: attributes, types, tensors, and the
// exceptions of both sides. Calls nothing.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "bind/dispatch/raise.h"
#include "bind/dispatch/tensor.h"
#include "runtime/calls/call.h"
#include "runtime/jit.h"
#include "runtime/op_error.h"

namespace kw {

/// Converts None, bool, int, float, str, dtypes, and lists or tuples of them. Throws OpError that names the
/// attribute.
Attr attr_from_python(pybind11::handle o, std::string_view name, int depth = 0);
/// Returns a value as a Python object. Dtypes become NumPy's; lists and tuples become lists.
pybind11::object attr_to_python(const Attr &a);

/// Convert a type to ("float32", (2, 3)) and back; throw OpError.
pybind11::tuple type_to_python(const TensorType &t);
TensorType type_from_python(pybind11::handle o);

/// Returns a tensor as an object of `type`; None for an empty Tensor.
pybind11::object tensor_to_python(Tensor t, PyTypeObject *type);
/// Who can write an array after the call: other code, or nobody but its tensor.
enum class Owner : uint8_t { other_code, tensor };
/// Returns a tensor from a tensor object or an array. Throws OpError with `what` for other objects. Sets
/// `copied` if the tensor has memory of its own, because calls cannot read that of the array. Memory of an
/// array that other code can write (`owner`) is flagged as viewed.
Tensor tensor_from_python(pybind11::handle o, const std::string &what, bool *copied = nullptr,
                          Owner owner = Owner::other_code);

/// Returns the same, or an empty Tensor for None. `what` is a function that is called only for other objects.
template <class What>
Tensor tensor_or_none(pybind11::handle o, What &&what) {
  if (const Tensor *t = tensor_of(o.ptr())) return *t;
  return o.is_none() ? Tensor() : tensor_from_python(o, what());
}

/// Calls a function with positional arguments; throws error_already_set.
pybind11::object call_with(pybind11::handle function, const std::vector<pybind11::object> &args);

/// Sets the Python exception for the C++ exception that is being handled.
void raise_current() noexcept;

/// Runs f() and converts a C++ exception to a Python one; then returns null.
template <class F>
PyObject *calling(F &&f) noexcept {
  try {
    return f();
  } catch (...) {
    raise_current();
    return nullptr;
  }
}

/// Runs f() like calling(), for functions that pybind11 calls.
template <class F>
auto raising(F &&f) {
  try {
    return f();
  } catch (...) {
    raise_current();
    throw pybind11::error_already_set();
  }
}

}  // namespace kw
