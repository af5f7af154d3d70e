// Implements tensor objects.
#include "bind/dispatch/tensor.h"

#include "bind/dispatch/numpy.h"

#include <structmember.h>

#include <algorithm>
#include <new>
#include <utility>

#include "bind/dispatch/args.h"
#include "bind/dispatch/device_array.h"
#include "runtime/op_error.h"
#include "support/text.h"

namespace kw {

namespace {

/// A handle of a runtime tensor as a Python object. Several objects may refer to the same tensor.
struct TensorObject {
  PyObject_HEAD Tensor tensor;
  bool counts_view;  ///< it is the base of a writable array, which is a view by other code
};

PyTypeObject *tensor_type = nullptr;         ///< created once, when the module is imported
std::vector<PyTypeObject *> result_classes;  ///< referenced forever

TensorObject *as_tensor(PyObject *o) { return reinterpret_cast<TensorObject *>(o); }

/// Returns a storage over an array's memory. It keeps the array alive until no tensor needs the memory.
std::shared_ptr<Storage> storage_of(PyArrayObject *a) {
  PyObject *o = Py_NewRef(reinterpret_cast<PyObject *>(a));
  return Storage::adopt(PyArray_DATA(a), PyArray_ISWRITEABLE(a), [o] { release_object(o); });
}

/// Creates Tensor(array): copies the array into new row-major memory, in native byte order.
PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *keywords[] = {"array", nullptr};
  PyObject *given = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char **>(keywords), &given)) return nullptr;
  return guarded([&]() -> PyObject * {
    PyRef array(PyArray_FROM_OF(given, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY | NPY_ARRAY_NOTSWAPPED));
    if (!array) return nullptr;
    Tensor t = tensor_over(array.get(), "input");
    return t ? wrap_tensor(type, std::move(t)) : nullptr;
  });
}

void tensor_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  if (as_tensor(self)->counts_view) as_tensor(self)->tensor.storage().drop_view();
  as_tensor(self)->tensor.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *tensor_shape(PyObject *self, void *) {
  Extents shape = as_tensor(self)->tensor.shape();
  PyObject *out = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  for (size_t d = 0; out && d < shape.size(); ++d)
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(d), PyLong_FromLongLong(shape[d]));
  return out;
}

/// Returns NumPy's dtype object. Raises a TypeError for bfloat16 without ml_dtypes.
PyObject *tensor_numpy_dtype(PyObject *self, void *) {
  const void *descr = output_descr(as_tensor(self)->tensor.dtype());
  if (!descr) return PyErr_Format(PyExc_TypeError, "bfloat16 needs the package ml_dtypes");
  return Py_NewRef(static_cast<PyObject *>(const_cast<void *>(descr)));
}

/// Returns a copy of a tensor on another device, made without the GIL; an empty one with an exception.
Tensor moved(const Tensor &t, Device device) {
  GilReleased released;
  return t.to(device);
}

/// Returns an array over the memory, or of a tensor of a GPU a copy. It is read-only if a gradient needs the
/// memory as it is, because writes through the array would not be seen.
PyObject *tensor_numpy(PyObject *self, PyObject *) {
  return guarded([&]() -> PyObject * {
    const Tensor &t = as_tensor(self)->tensor;
    if (t.device().kind != DeviceKind::cpu) {
      Tensor copy = moved(t, Device{});
      return copy ? array_over(copy, true) : nullptr;
    }
    if (t.history()) return array_over(t, false);
    t.storage().add_view();  // before the look at the pins
    bool writable = !t.storage().is_pinned();
    PyObject *array = array_over(t, writable);
    t.storage().drop_view();  // a writable array has counted its own
    // what is written through it is not seen: the history of a tensor with the same memory ends here
    if (writable) t.storage().note_array();
    return array;
  });
}

/// Returns "cpu" or "cuda:0".
PyObject *tensor_device(PyObject *self, void *) {
  Device d = as_tensor(self)->tensor.device();
  return d.kind == DeviceKind::cpu ? PyUnicode_FromString("cpu") : PyUnicode_FromFormat("cuda:%u", d.index);
}

/// Returns a copy on a device, `_to(kind, index)`: kind 0 is the CPU, 1 are GPUs.
PyObject *tensor_to(PyObject *self, PyObject *args) {
  int kind = 0;
  unsigned index = 0;
  if (!PyArg_ParseTuple(args, "iI", &kind, &index)) return nullptr;
  return guarded([&]() -> PyObject * {
    Tensor copy = moved(as_tensor(self)->tensor, {static_cast<DeviceKind>(kind), index});
    return copy ? wrap_tensor(Py_TYPE(self), std::move(copy)) : nullptr;
  });
}

/// Exports the tensor: `_dlpack(stream, is_versioned)`.
PyObject *tensor_dlpack(PyObject *self, PyObject *args) {
  PyObject *stream = nullptr;
  int is_versioned = 0;
  if (!PyArg_ParseTuple(args, "Op", &stream, &is_versioned)) return nullptr;
  return guarded([&] { return dlpack_capsule(as_tensor(self)->tensor, stream, is_versioned != 0); });
}

PyObject *tensor_dlpack_device(PyObject *self, PyObject *) { return dlpack_device(as_tensor(self)->tensor); }

/// Returns a writable array for a write by the package itself, and counts the write.
PyObject *tensor_for_write(PyObject *self, PyObject *) {
  return guarded([&]() -> PyObject * {
    if (as_tensor(self)->tensor.device().kind != DeviceKind::cpu)
      return PyErr_Format(PyExc_TypeError, "a tensor on a GPU has no array that can be written");
    as_tensor(self)->tensor.storage().note_write();
    return array_over(as_tensor(self)->tensor, true);
  });
}

/// Copies the elements of an array of the same dtype and shape into the tensor, wherever it lies; counts as a
/// write of its memory.
PyObject *tensor_copy_from(PyObject *self, PyObject *array) {
  return guarded([&]() -> PyObject * {
    const Tensor &t = as_tensor(self)->tensor;
    Tensor from = tensor_over(array, "the array");
    if (!from) return nullptr;
    if (from.dtype() != t.dtype() || !std::ranges::equal(from.shape(), t.shape()))
      throw_value_error(cat("an array of ", type_text(from.dtype(), from.shape()), " for a tensor of ",
                            type_text(t.dtype(), t.shape())));
    t.assign(from.to(t.device()));
    t.storage().note_write();
    return Py_NewRef(Py_None);
  });
}

/// Flags memory over which other code has an array forever.
PyObject *tensor_mark_viewed(PyObject *self, PyObject *) {
  as_tensor(self)->tensor.storage().add_view();
  return Py_NewRef(Py_None);
}

PyObject *tensor_cuda_interface(PyObject *self, void *) {
  return guarded([&] { return cuda_array_interface(as_tensor(self)->tensor); });
}

PyObject *tensor_tracked(PyObject *self, void *) {
  return PyBool_FromLong(static_cast<bool>(as_tensor(self)->tensor.history()));
}

/// Returns a tensor over the memory of the array, or of a copy if its strides are irregular.
PyObject *tensor_from_array(PyObject *type, PyObject *array) {
  return guarded([&]() -> PyObject * {
    Tensor t = tensor_over(array, "input");
    return t ? wrap_tensor(reinterpret_cast<PyTypeObject *>(type), std::move(t)) : nullptr;
  });
}

/// Returns the same tensor, with memory and history, as an object of another class.
PyObject *tensor_as_class(PyObject *type, PyObject *other) {
  const Tensor *t = tensor_of(other);
  if (!t) return PyErr_Format(PyExc_TypeError, "expected a tensor, got %s", Py_TYPE(other)->tp_name);
  return wrap_tensor(reinterpret_cast<PyTypeObject *>(type), *t);
}

/// Replaces the handle of this object. Other objects and calls keep the previous tensor.
PyObject *tensor_assign(PyObject *self, PyObject *other) {
  const Tensor *t = tensor_of(other);
  if (!t) return PyErr_Format(PyExc_TypeError, "expected a tensor, got %s", Py_TYPE(other)->tp_name);
  as_tensor(self)->tensor = *t;
  return Py_NewRef(Py_None);
}

PyObject *tensor_is(PyObject *self, PyObject *other) {
  const Tensor *t = tensor_of(other);
  return PyBool_FromLong(t && t->is(as_tensor(self)->tensor));
}

PyObject *tensor_adopted(PyObject *, PyObject *o) {
  return guarded([&]() -> PyObject * {
    PyRef tensor = adopted(o);
    if (tensor) return Py_NewRef(tensor.get());
    return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
  });
}

PyMethodDef methods[] = {
    {"_is", tensor_is, METH_O, "Whether it stands for the same tensor as another object."},
    {"numpy", tensor_numpy, METH_NOARGS,
     "An array over the tensor's memory; read-only while a gradient needs the memory as it is (copy it to "
     "write). Of a tensor on a GPU, a copy."},
    {"_adopted", tensor_adopted, METH_O | METH_STATIC, "A tensor over an array of a GPU; None for others."},
    {"_to", tensor_to, METH_VARARGS, "A copy on a device, given by the number of its kind and its own."},
    {"_dlpack", tensor_dlpack, METH_VARARGS, "A capsule of DLPack, for a stream or None."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "The device in DLPack's numbers."},
    {"_for_write", tensor_for_write, METH_NOARGS, "A writable array; counts as a write of the memory."},
    {"_copy_from", tensor_copy_from, METH_O, "Copies the elements of an array into the tensor."},
    {"_mark_viewed", tensor_mark_viewed, METH_NOARGS, "Says that other code may write the memory."},
    {"_from_array", tensor_from_array, METH_O | METH_CLASS, "A tensor over the memory of an array."},
    {"_as_class", tensor_as_class, METH_O | METH_CLASS, "The same tensor as an object of this class."},
    {"_assign", tensor_assign, METH_O, "Makes this object stand for another tensor."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef tensor_getset[] = {
    {"shape", tensor_shape, nullptr, "Extents, a tuple of int.", nullptr},
    {"__cuda_array_interface__", tensor_cuda_interface, nullptr, "What other libraries for GPUs read.",
     nullptr},
    {"device", tensor_device, nullptr, "Where its elements lie: 'cpu' or 'cuda:0'.", nullptr},
    {"numpy_dtype", tensor_numpy_dtype, nullptr, "The dtype as NumPy's object.", nullptr},
    {"_is_tracked", tensor_tracked, nullptr, "Whether gradients can go through it.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

PyObject *make_tensor_type() {
  PyType_Slot slots[] = {{Py_tp_new, slot(tensor_new)},
                         {Py_tp_dealloc, slot(tensor_dealloc)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, tensor_getset},
                         {Py_tp_doc, const_cast<char *>("Tensor(array): a copy of an array.")},
                         {0, nullptr}};
  PyType_Spec spec{"kernelwright._core.Tensor", sizeof(TensorObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject *type = PyType_FromSpec(&spec);
  tensor_type = reinterpret_cast<PyTypeObject *>(type);
  return type;
}

void release_object(PyObject *o) {
  if (!Py_IsInitialized()) return;
  StaysAtEnd stays;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(o);
  PyGILState_Release(state);
  stays.over();
}

const Tensor *tensor_of(PyObject *o) {
  static PyTypeObject *seen = nullptr;  // last class seen, referenced; programs have one or two
  if (Py_TYPE(o) == seen) return &as_tensor(o)->tensor;
  if (!PyObject_TypeCheck(o, tensor_type)) return nullptr;
  Py_INCREF(Py_TYPE(o));
  Py_XDECREF(std::exchange(seen, Py_TYPE(o)));
  return &as_tensor(o)->tensor;
}

PyObject *wrap_tensor(PyTypeObject *type, Tensor t) {
  // tp_alloc clears the object, so `counts_view` is false; the handle still needs its constructor
  PyObject *self = type->tp_alloc(type, 0);
  if (self) new (&as_tensor(self)->tensor) Tensor(std::move(t));
  return self;
}

PyTypeObject *result_class(PyObject *o) {
  for (PyTypeObject *t = Py_TYPE(o); t; t = t->tp_base)
    if (std::find(result_classes.begin(), result_classes.end(), t) != result_classes.end()) return t;
  return nullptr;
}

void add_result_class(PyTypeObject *type) {
  Py_INCREF(type);
  result_classes.push_back(type);
}

PyTypeObject *default_result_class() { return result_classes.empty() ? tensor_type : result_classes[0]; }

bool is_array(PyObject *o) { return PyArray_Check(o); }
bool is_array_like(PyObject *o) { return PyArray_Check(o) || PyArray_IsScalar(o, Generic); }

Tensor tensor_over(PyObject *o, const char *name, bool *copied) {
  // a NumPy number becomes an array of rank 0, which is a copy
  if (!PyArray_Check(o)) {
    PyRef array(PyArray_FromScalar(o, nullptr));
    if (copied) *copied = true;
    return array ? tensor_over(array.get(), name) : Tensor();
  }
  auto *a = reinterpret_cast<PyArrayObject *>(o);
  int dtype = dtype_of_array(o);
  if (dtype < 0 || !PyArray_ISNOTSWAPPED(a)) {
    PyErr_Format(PyExc_TypeError, "%s is an array of dtype %S, which operators do not take", name,
                 reinterpret_cast<PyObject *>(PyArray_DESCR(a)));
    return {};
  }
  // NumPy counts strides in bytes, tensors in elements
  auto item = static_cast<int64_t>(item_size(static_cast<DType>(dtype)));
  std::vector<int64_t> strides;
  bool regular = PyArray_ISALIGNED(a);
  for (int d = 0; d < PyArray_NDIM(a); ++d) {
    regular = regular && (PyArray_DIM(a, d) <= 1 || PyArray_STRIDE(a, d) % item == 0);
    strides.push_back(PyArray_STRIDE(a, d) / item);
  }
  if (!regular) {
    PyRef copy(PyArray_NewCopy(a, NPY_CORDER));
    if (copied) *copied = true;
    return copy ? tensor_over(copy.get(), name) : Tensor();
  }
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  Extents shape(reinterpret_cast<const int64_t *>(PyArray_DIMS(a)), static_cast<size_t>(PyArray_NDIM(a)));
  return Tensor::over(storage_of(a), PyArray_DATA(a), static_cast<DType>(dtype), shape, strides);
}

void note_write_through(PyObject *array) {
  PyObject *base = array;
  while (base && PyArray_Check(base)) base = PyArray_BASE(reinterpret_cast<PyArrayObject *>(base));
  if (const Tensor *t = base ? tensor_of(base) : nullptr) t->storage().note_write();
}

void forget_history(PyObject *o) {
  Tensor &t = as_tensor(o)->tensor;
  if (!t.is_only_handle())
    t = t.detached();
  else
    t.set_history({});
}

PyObject *array_over(const Tensor &t, bool writable) {
  const void *descr = output_descr(t.dtype());
  if (!descr) return PyErr_Format(PyExc_TypeError, "bfloat16 needs the package ml_dtypes");
  npy_intp dims[max_rank], strides[max_rank];
  for (size_t d = 0; d < t.rank(); ++d) {
    dims[d] = t.shape()[d];
    strides[d] = t.strides()[d] * static_cast<int64_t>(item_size(t.dtype()));
  }
  // the base is a new object, because `_assign` to the user's object would release the memory under the array
  PyRef owner(wrap_tensor(tensor_type, t));
  if (!owner) return nullptr;
  writable = writable && t.writable();
  // from here on, because the array may be written as soon as it exists
  if (writable) t.storage().add_view(), as_tensor(owner.get())->counts_view = true;
  Py_INCREF(const_cast<void *>(descr));
  PyRef array(PyArray_NewFromDescr(&PyArray_Type, static_cast<PyArray_Descr *>(const_cast<void *>(descr)),
                                   static_cast<int>(t.rank()), dims, strides, t.data(),
                                   writable ? NPY_ARRAY_WRITEABLE : 0, nullptr));
  if (!array || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array.get()), owner.release()) < 0)
    return nullptr;
  // computes the contiguity and alignment flags from the strides and the address
  PyArray_UpdateFlags(reinterpret_cast<PyArrayObject *>(array.get()), NPY_ARRAY_UPDATE_ALL);
  return array.release();
}

}  // namespace kw
