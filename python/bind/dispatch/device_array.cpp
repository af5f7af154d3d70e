// Dicts of the interface, and capsules of DLPack before its version 1, which every library reads and writes.
#include "bind/dispatch/device_array.h"

#include "bind/dispatch/tensor.h"
#include "runtime/cuda/device.h"
#include "support/text.h"

namespace kw {

namespace {

/// What the numbers of streams mean that are not addresses.
constexpr uintptr_t no_stream = 0, legacy = 1, per_thread = 2;

/// Raises a TypeError about a description. Returns null.
PyRef refuse_array(const std::string &why) {
  PyErr_Format(PyExc_TypeError, "__cuda_array_interface__ %s", why.c_str());
  return {};
}

/// Returns the letter of the interface for a kind of dtypes.
char kind_letter(DType t) { return t == DType::b1 ? 'b' : is_float(t) ? 'f' : is_signed_int(t) ? 'i' : 'u'; }

std::string text_of_dtype(DType t) {
  return cat(item_size(t) == 1 ? "|" : "<", kind_letter(t), item_size(t));
}

/// Returns the dtype of a type string such as "<f4"; nothing for those that the language does not have.
std::optional<DType> dtype_of_text(std::string_view text) {
  if (text.size() != 3 || text[0] == '>') return std::nullopt;
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i) {
    auto t = static_cast<DType>(i);
    bool is_named = t != DType::bf16;  // the interface has no word for it
    if (is_named && text[1] == kind_letter(t) && text[2] == static_cast<char>('0' + item_size(t))) return t;
  }
  return std::nullopt;
}

/// The names that each call looks up, made once: to make one takes as long as to look it up. Dicts have them
/// as keys, because a look-up compares no characters of a key that is the same object.
struct Names {
  PyObject *interface = PyUnicode_InternFromString("__cuda_array_interface__");
  PyObject *dlpack = PyUnicode_InternFromString("__dlpack__");
  PyObject *dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
  PyObject *module = PyUnicode_InternFromString("__module__");
  PyObject *shape = PyUnicode_InternFromString("shape");
  PyObject *typestr = PyUnicode_InternFromString("typestr");
  PyObject *data = PyUnicode_InternFromString("data");
  PyObject *strides = PyUnicode_InternFromString("strides");
  PyObject *version = PyUnicode_InternFromString("version");
  PyObject *stream = PyUnicode_InternFromString("stream");
  PyObject *mask = PyUnicode_InternFromString("mask");
};
const Names &names() {
  static const Names all;
  return all;
}

/// Reads a tuple of integers, the value of a key of the description. Returns false with an exception.
bool read_integers(PyObject *tuple, const char *key, std::vector<int64_t> &out) {
  PyRef items(PySequence_Tuple(tuple));
  for (Py_ssize_t i = 0; items && !PyErr_Occurred() && i < PyTuple_GET_SIZE(items.get()); ++i)
    out.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(items.get(), i)));
  bool is_malformed = PyErr_Occurred() &&
                      (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
                       PyErr_ExceptionMatches(PyExc_OverflowError));
  if (is_malformed) refuse_array(cat("needs a tuple of integers as ", key));
  return !PyErr_Occurred();
}

/// Returns the stream that a number of the interfaces means.
CuStream stream_of_number(uintptr_t number) {
  // the per-thread default stream has no handle of its own that we could record in: the legacy stream waits
  // for it
  return reinterpret_cast<CuStream>(number == per_thread ? legacy : number);
}

/// Returns the library that a type comes from: "torch" for torch.Tensor.
const std::string &library_of(PyObject *o) {
  static PyObject *seen = nullptr;  // last type seen, referenced; programs have one or two
  static std::string library;
  auto *type = reinterpret_cast<PyObject *>(Py_TYPE(o));
  if (type == seen) return library;
  PyRef module(PyObject_GetAttr(type, names().module));
  std::string name = module && PyUnicode_Check(module.get()) ? utf8(module.get()) : std::string();
  PyErr_Clear();
  library = name.substr(0, name.find('.'));
  PyRef before(std::exchange(seen, Py_NewRef(type)));
  return library;
}

/// Returns the number of the stream in which torch works at present, which its arrays do not tell; no_stream
/// for arrays of other libraries.
uintptr_t stream_of_library(PyObject *o, uint32_t index) {
  if (library_of(o) != "torch") return no_stream;
  PyRef cuda(PyImport_ImportModule("torch.cuda"));
  PyRef stream(cuda ? PyObject_CallMethod(cuda.get(), "current_stream", "I", index) : nullptr);
  PyRef handle(stream ? PyObject_GetAttrString(stream.get(), "cuda_stream") : nullptr);
  uintptr_t number = handle ? PyLong_AsUnsignedLongLong(handle.get()) : no_stream;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return no_stream;
  }
  return number ? number : legacy;  // torch writes the default stream as 0
}

/// Returns a device, whose context becomes that of this thread: the default stream belongs to one.
CudaDevice &entered(uint32_t index) {
  CudaDevice &device = cuda_device(index);
  device.enter();
  return device;
}

/// Memory of another library for the time of a call. Its stream waits for our work when the call has been
/// launched, because the library may then read what we wrote, or use the memory for something else.
class Borrowed {
 public:
  enum class Order { none, unknown, stream };

  /// Memory that a library uses in the stream `producer`, in one that it does not tell, or in no order at
  /// all.
  Borrowed(uint32_t index, Order order, uintptr_t producer)
      : index_(index), order_(order), ours_(present_stream(index)), theirs_(stream_of_number(producer)) {}
  /// Lets our stream wait for the work that theirs has so far.
  void begin() const {
    if (order_ == Order::stream && theirs_ != ours_) entered(index_).memory().order(theirs_, ours_);
  }
  /// Lets their stream wait for ours. If it is not known, this thread waits.
  void end() const {
    if (order_ == Order::none || (order_ == Order::stream && theirs_ == ours_)) return;
    try {
      CudaDevice &device = entered(index_);  // this may be any thread
      if (order_ == Order::stream) device.memory().order(ours_, theirs_);
      if (order_ == Order::unknown) device.driver().cuStreamSynchronize(ours_);
    } catch (const std::exception &) {
      // the device has failed, or is gone with the process: nothing is left to order
    }
  }

 private:
  uint32_t index_;
  Order order_;
  CuStream ours_, theirs_;
};

// ---- DLPack

constexpr int32_t of_cpu = 1, of_cuda = 2;  // kDLCPU, kDLCUDA
constexpr int64_t no_order = -1;
constexpr const char *unused_name = "dltensor", *used_name = "used_dltensor";
constexpr const char *versioned_name = "dltensor_versioned";

struct DlTensor {
  void *data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void *context;
  void (*deleter)(DlManaged *);
};

/// The structure since version 1, which can say that memory is read-only.
struct DlVersioned {
  uint32_t major = 1, minor = 0;
  void *context;
  void (*deleter)(DlVersioned *);
  uint64_t flags;
  DlTensor tensor;
};
constexpr uint64_t flag_read_only = 1;

/// What a capsule keeps while others use the memory.
struct Exported {
  DlManaged managed{};
  DlVersioned versioned{};
  Tensor tensor;
  std::vector<int64_t> shape, strides;
  CuStream consumer = nullptr;  ///< in which they use it, if they told
};

/// The codes of DLPack for the kinds of dtypes.
enum DlpackCode : uint8_t { code_int = 0, code_uint = 1, code_float = 2, code_bfloat = 4, code_bool = 6 };

uint8_t code_of(DType t) {
  if (t == DType::b1) return code_bool;
  if (t == DType::bf16) return code_bfloat;
  return is_float(t) ? code_float : is_signed_int(t) ? code_int : code_uint;
}

/// Returns the dtype with a code and a width; nothing if the language does not have it.
std::optional<DType> dtype_of(const DlTensor &t) {
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i) {
    auto d = static_cast<DType>(i);
    if (code_of(d) == t.code && item_size(d) * 8 == t.bits && t.lanes == 1) return d;
  }
  return std::nullopt;
}

/// Lets the next use of the memory of a tensor wait for the work that a stream has by then.
void used_by(const Tensor &t, CuStream stream) {
  entered(t.device().index).memory().use(reinterpret_cast<CuPointer>(t.data()), stream);
}

void drop(void *context) {
  auto *e = static_cast<Exported *>(context);
  try {
    if (e->consumer) used_by(e->tensor, e->consumer);
  } catch (const std::exception &) {
    // the device has failed, or is gone with the process
  }
  e->tensor.storage().drop_view();
  delete e;
}
void delete_managed(DlManaged *m) { drop(m->context); }
void delete_versioned(DlVersioned *v) { drop(v->context); }

/// Deletes what a capsule holds that nobody has taken.
void drop_capsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, unused_name))
    delete_managed(static_cast<DlManaged *>(PyCapsule_GetPointer(capsule, unused_name)));
  else if (PyCapsule_IsValid(capsule, versioned_name))
    delete_versioned(static_cast<DlVersioned *>(PyCapsule_GetPointer(capsule, versioned_name)));
}

/// Returns the number of the GPU that an object says it lies on; nothing for other objects.
std::optional<uint32_t> gpu_of(PyObject *o) {
  PyRef device(PyObject_CallMethodNoArgs(o, names().dlpack_device));
  std::optional<uint32_t> found;
  if (device && PyTuple_Check(device.get()) && PyTuple_GET_SIZE(device.get()) == 2 &&
      PyLong_AsLong(PyTuple_GET_ITEM(device.get(), 0)) == of_cuda)
    found = static_cast<uint32_t>(PyLong_AsLong(PyTuple_GET_ITEM(device.get(), 1)));
  PyErr_Clear();
  return found;
}

/// Returns whether an instance has an attribute of its own, besides those of its class.
bool has_own(PyObject *o, PyObject *name) {
  PyRef own(PyObject_GenericGetDict(o, nullptr));
  if (!own) PyErr_Clear();  // an object without attributes
  return own && PyDict_GetItemWithError(own.get(), name);
}

bool exports_dlpack(PyObject *o) {
  auto *type = reinterpret_cast<PyObject *>(Py_TYPE(o));
  return PyObject_HasAttr(type, names().dlpack) && PyObject_HasAttr(type, names().dlpack_device);
}

}  // namespace

PyRef tensor_of_cuda_array(PyObject *o) {
  // not by the object's own look-up, which makes an exception where it fails, or anything in a proxy
  PyObject *name = names().interface;
  if (!PyObject_HasAttr(reinterpret_cast<PyObject *>(Py_TYPE(o)), name) && !has_own(o, name)) return {};
  PyRef description(PyObject_GetAttr(o, name));
  if (!description) {
    // what a property raises for an array of the CPU
    PyErr_Clear();
    return {};
  }
  if (!PyDict_Check(description.get())) return refuse_array("is no dict");
  auto get = [&](PyObject *key) { return PyDict_GetItemWithError(description.get(), key); };
  // before version 3 nothing orders the work of the library, which DLPack does
  PyObject *stream = get(names().stream);
  if (!stream && exports_dlpack(o)) return {};
  PyObject *shape = get(names().shape), *type = get(names().typestr), *data = get(names().data),
           *strides = get(names().strides);
  if (!shape || !type || !data || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2)
    return refuse_array("needs shape, typestr and data");
  std::optional<DType> dtype = dtype_of_text(utf8(type));
  if (!dtype) return refuse_array(cat("has the dtype '", utf8(type), "', which kernels do not take"));
  std::vector<int64_t> extents, steps;
  if (!read_integers(shape, "shape", extents) ||
      (strides && strides != Py_None && !read_integers(strides, "strides", steps)))
    return {};
  if (PyObject *mask = get(names().mask); mask && mask != Py_None)
    return refuse_array("has a mask, which kernels do not read");
  auto item = static_cast<int64_t>(item_size(*dtype));
  for (int64_t &s : steps) {
    if (s % item != 0) return refuse_array("has strides that are no multiples of its items");
    s /= item;
  }
  if (!steps.empty() && steps.size() != extents.size())
    return refuse_array("has another number of strides than extents");
  auto *address = reinterpret_cast<void *>(PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(data, 0)));
  if (PyErr_Occurred()) return refuse_array("needs an address and a bool as data");
  bool is_read_only = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1)) != 0;
  uintptr_t producer = no_stream;
  if (stream && stream != Py_None) {
    producer = PyLong_AsUnsignedLongLong(stream);
    if (PyErr_Occurred()) return {};
    if (producer == no_stream) return refuse_array("names stream 0, which the interface forbids");
  }
  bool is_empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  if (!address && is_empty)  // as the interface wants it; nothing tells the device
    return PyRef(wrap_tensor(default_result_class(), Tensor::empty(*dtype, extents, {DeviceKind::cuda, 0})));
  uint32_t index = device_of_memory(address);
  Borrowed memory(index, producer == no_stream ? Borrowed::Order::none : Borrowed::Order::stream, producer);
  memory.begin();
  PyObject *owner = Py_NewRef(o);
  auto release = [owner, memory] { memory.end(), release_object(owner); };
  auto storage = Storage::adopt(address, !is_read_only, std::move(release), {DeviceKind::cuda, index});
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
  const Names &n = names();
  return Py_BuildValue("{ONOsO(KN)ONOiOK}", n.shape, tuple_of(t.shape(), 1), n.typestr,
                       text_of_dtype(t.dtype()).c_str(), n.data, static_cast<unsigned long long>(address),
                       PyBool_FromLong(!t.writable()), n.strides, strides, n.version, 3, n.stream,
                       static_cast<unsigned long long>(stream));
}

PyRef tensor_of_dlpack(PyObject *o) {
  if (!exports_dlpack(o)) return {};
  std::optional<uint32_t> index = gpu_of(o);
  if (!index) return {};
  // the streams of all devices but the chosen ones have the same number
  auto stream = reinterpret_cast<uintptr_t>(present_stream(*index));
  PyRef method(PyObject_GetAttr(o, names().dlpack));
  PyRef keywords(Py_BuildValue("{sK}", "stream", static_cast<unsigned long long>(stream)));
  PyRef nothing(PyTuple_New(0));
  PyRef capsule(method && keywords && nothing ? PyObject_Call(method.get(), nothing.get(), keywords.get())
                                              : nullptr);
  if (!capsule) return {};
  auto *m = static_cast<DlManaged *>(PyCapsule_GetPointer(capsule.get(), unused_name));
  if (!m) return {};
  const DlTensor &t = m->tensor;
  std::optional<DType> dtype = dtype_of(t);
  if (!dtype) {
    PyErr_Format(PyExc_TypeError, "DLPack array of code %d with %d bits, which kernels do not take", t.code,
                 t.bits);
    return {};
  }
  PyCapsule_SetName(capsule.get(), used_name);
  auto rank = static_cast<size_t>(t.rank);
  std::vector<int64_t> shape(t.shape, t.shape + rank), strides;
  if (t.strides) strides.assign(t.strides, t.strides + rank);
  // the library has ordered its work before ours
  uintptr_t producer = stream_of_library(o, *index);
  Borrowed memory(*index, producer == no_stream ? Borrowed::Order::unknown : Borrowed::Order::stream,
                  producer);
  auto release = [m, memory] {
    memory.end();
    // the deleters of most libraries release objects of Python
    if (!Py_IsInitialized() || !m->deleter) return;
    PyGILState_STATE state = PyGILState_Ensure();
    m->deleter(m);
    PyGILState_Release(state);
  };
  auto *data = static_cast<char *>(t.data) + t.byte_offset;
  auto storage = Storage::adopt(data, true, std::move(release), {DeviceKind::cuda, *index});
  return PyRef(
      wrap_tensor(default_result_class(), Tensor::over(std::move(storage), data, *dtype, shape, strides)));
}

LibraryStream::~LibraryStream() {
  if (is_set_) set_stream(index_, before_);
}

void LibraryStream::follow(PyObject *array) {
  if (std::exchange(has_looked_, true) || library_of(array) != "torch") return;
  std::optional<uint32_t> index = gpu_of(array);
  if (!index || present_stream(*index) != reinterpret_cast<CuStream>(legacy)) return;
  uintptr_t number = stream_of_library(array, *index);
  if (number == no_stream) return;
  index_ = *index, is_set_ = true;
  before_ = set_stream(index_, stream_of_number(number));
}

PyRef adopted(PyObject *o) {
  PyRef tensor = tensor_of_cuda_array(o);
  return tensor || PyErr_Occurred() ? std::move(tensor) : tensor_of_dlpack(o);
}

PyObject *in_library_of(PyObject *original, PyObject *tensor) {
  std::string library = library_of(original);
  if (!tensor || (library != "torch" && library != "cupy")) return tensor;
  PyRef own(tensor), module(PyImport_ImportModule(library.c_str()));
  return module ? PyObject_CallMethod(module.get(), "from_dlpack", "O", tensor) : nullptr;
}

PyObject *dlpack_capsule(const Tensor &t, PyObject *stream, bool is_versioned) {
  bool is_gpu = t.device().kind == DeviceKind::cuda;
  if (!t.writable() && !is_versioned)
    return PyErr_Format(PyExc_BufferError, "DLPack before version 1 cannot say that memory is read-only");
  CuStream consumer = nullptr;
  if (stream != Py_None) {
    int64_t number = PyLong_AsLongLong(stream);
    if (PyErr_Occurred()) return nullptr;
    if (!is_gpu) return PyErr_Format(PyExc_ValueError, "a tensor on the CPU has no stream");
    if (number == int64_t{no_stream}) return PyErr_Format(PyExc_ValueError, "DLPack forbids stream 0");
    if (number != no_order) {
      CudaDevice &device = entered(t.device().index);
      consumer = stream_of_number(static_cast<uintptr_t>(number));
      device.memory().order(present_stream(device.index()), consumer);
      used_by(t, consumer);
    }
  }
  auto e = std::make_unique<Exported>();
  e->consumer = consumer;
  e->tensor = t.detached();
  e->shape.assign(t.shape().begin(), t.shape().end());
  e->strides.assign(t.strides().begin(), t.strides().end());
  DlTensor described{t.data(),
                     is_gpu ? of_cuda : of_cpu,
                     static_cast<int32_t>(t.device().index),
                     static_cast<int32_t>(t.rank()),
                     code_of(t.dtype()),
                     static_cast<uint8_t>(item_size(t.dtype()) * 8),
                     1,
                     e->shape.data(),
                     e->strides.data(),
                     0};
  e->managed = {described, e.get(), delete_managed};
  e->versioned.context = e.get(), e->versioned.deleter = delete_versioned;
  e->versioned.flags = t.writable() ? 0 : flag_read_only;
  e->versioned.tensor = described;
  t.storage().add_view();  // other code may write the memory from now on
  PyObject *capsule = is_versioned ? PyCapsule_New(&e->versioned, versioned_name, drop_capsule)
                                   : PyCapsule_New(&e->managed, unused_name, drop_capsule);
  if (!capsule) {
    t.storage().drop_view();
    return nullptr;
  }
  static_cast<void>(e.release());
  return capsule;
}

PyObject *dlpack_device(const Tensor &t) {
  bool is_gpu = t.device().kind == DeviceKind::cuda;
  return Py_BuildValue("(iI)", is_gpu ? of_cuda : of_cpu, t.device().index);
}

}  // namespace kw
