// Reads and writes dicts of the interface.
#include "bind/dispatch/device_array.h"

#include "bind/dispatch/tensor.h"
#include "runtime/cuda/device.h"
#include "support/text.h"

namespace kw {

namespace {

/// What the numbers of streams mean that are not addresses.
constexpr uintptr_t no_stream = 0, legacy = 1, per_thread = 2;

/// Raises a TypeError about a description. Returns null.
PyRef refuse(const std::string &why) {
  PyErr_Format(PyExc_TypeError, "__cuda_array_interface__ %s", why.c_str());
  return {};
}

/// Returns the dtype of a type string such as "<f4"; nothing for those that the language does not have.
std::optional<DType> dtype_of_text(const std::string &text) {
  if (text.size() < 3 || text[0] == '>') return std::nullopt;
  switch (text[1]) {
    case 'b': return text.substr(2) == "1" ? std::optional(DType::b1) : std::nullopt;
    case 'i': return dtype_from_numpy(cat("int", std::atoi(text.c_str() + 2) * 8));
    case 'u': return dtype_from_numpy(cat("uint", std::atoi(text.c_str() + 2) * 8));
    case 'f': return dtype_from_numpy(cat("float", std::atoi(text.c_str() + 2) * 8));
    default: return std::nullopt;
  }
}

std::string text_of_dtype(DType t) {
  if (t == DType::b1) return "|b1";
  char kind = is_float(t) ? 'f' : is_signed_int(t) ? 'i' : 'u';
  return cat(item_size(t) == 1 ? "|" : "<", kind, item_size(t));
}

/// Reads a tuple of integers. Returns false with an exception.
bool read_integers(PyObject *tuple, std::vector<int64_t> &out) {
  PyRef items(PySequence_Fast(tuple, "expected a tuple of integers"));
  for (Py_ssize_t i = 0; items && i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    out.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i)));
    if (PyErr_Occurred()) return false;
  }
  return bool(items);
}

/// Lets the stream of this thread wait for the work that another stream has so far.
void wait_for(CudaDevice &device, uintptr_t stream) {
  if (stream == no_stream) return;
  // the per-thread default stream has no handle of its own that we could record in: the legacy stream waits
  // for it
  auto producer = reinterpret_cast<CuStream>(stream == per_thread ? legacy : stream);
  device.memory().order(producer, present_stream(device.index()));
}

}  // namespace

PyRef tensor_of_cuda_array(PyObject *o) {
  // looks in the class first: a failed look-up in the object would make an exception
  if (!PyObject_HasAttrString(reinterpret_cast<PyObject *>(Py_TYPE(o)), "__cuda_array_interface__"))
    return {};
  PyRef description(PyObject_GetAttrString(o, "__cuda_array_interface__"));
  if (!description) {
    // what a property raises for an array of the CPU
    PyErr_Clear();
    return {};
  }
  if (!PyDict_Check(description.get())) return refuse("is no dict");
  auto get = [&](const char *key) { return PyDict_GetItemString(description.get(), key); };
  PyObject *shape = get("shape"), *type = get("typestr"), *data = get("data"), *strides = get("strides"),
           *stream = get("stream");
  if (!shape || !type || !data || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2)
    return refuse("needs shape, typestr and data");
  std::optional<DType> dtype = dtype_of_text(utf8(type));
  if (!dtype) return refuse(cat("has the dtype '", utf8(type), "', which kernels do not take"));
  std::vector<int64_t> extents, steps;
  if (!read_integers(shape, extents) || (strides && strides != Py_None && !read_integers(strides, steps)))
    return {};
  auto item = static_cast<int64_t>(item_size(*dtype));
  for (int64_t &s : steps) {
    if (s % item != 0) return refuse("has strides that are no multiples of its items");
    s /= item;
  }
  if (!steps.empty() && steps.size() != extents.size())
    return refuse("has another number of strides than extents");
  auto *address = reinterpret_cast<void *>(PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(data, 0)));
  if (PyErr_Occurred()) return {};
  bool is_read_only = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1)) != 0;
  uintptr_t producer = no_stream;
  if (stream && stream != Py_None) {
    producer = PyLong_AsUnsignedLongLong(stream);
    if (PyErr_Occurred()) return {};
    if (producer == no_stream) return refuse("names stream 0, which the interface forbids");
  }
  uint32_t index = device_of_memory(address);
  wait_for(cuda_device(index), producer);
  PyObject *owner = Py_NewRef(o);
  auto storage =
      Storage::adopt(address, !is_read_only, [owner] { release_object(owner); }, {DeviceKind::cuda, index});
  Tensor t = Tensor::over(std::move(storage), address, *dtype, extents, steps);
  return PyRef(wrap_tensor(default_result_class(), std::move(t)));
}

PyObject *cuda_array_interface(const Tensor &t) {
  if (t.device().kind != DeviceKind::cuda || t.dtype() == DType::bf16)
    return PyErr_Format(PyExc_AttributeError, "%s have no __cuda_array_interface__",
                        t.dtype() == DType::bf16 ? "arrays of bfloat16" : "tensors on the CPU");
  auto tuple_of = [](Extents numbers, int64_t factor) {
    PyObject *out = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
    for (size_t d = 0; out && d < numbers.size(); ++d)
      PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(d), PyLong_FromLongLong(numbers[d] * factor));
    return out;
  };
  PyObject *strides = t.is_contiguous() ? Py_NewRef(Py_None)
                                        : tuple_of(t.strides(), static_cast<int64_t>(item_size(t.dtype())));
  // whoever takes it orders its work behind ours by this stream
  auto stream = reinterpret_cast<uintptr_t>(present_stream(t.device().index));
  auto address = reinterpret_cast<uintptr_t>(t.data());
  return Py_BuildValue("{sNsss(KN)sNsisK}", "shape", tuple_of(t.shape(), 1), "typestr",
                       text_of_dtype(t.dtype()).c_str(), "data", static_cast<unsigned long long>(address),
                       PyBool_FromLong(!t.writable()), "strides", strides, "version", 3, "stream",
                       static_cast<unsigned long long>(stream));
}

}  // namespace kw
