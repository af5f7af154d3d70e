// Reads NumPy objects.
#include "bind/dispatch/args.h"

#define PY_ARRAY_UNIQUE_SYMBOL kernelwright_numpy
#include "bind/dispatch/numpy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "bind/dispatch/foreign.h"
#include "bind/dispatch/memory.h"
#include "bind/dispatch/notes.h"
#include "bind/dispatch/tensor.h"
#include "ir/limits.h"
#include "runtime/tensor.h"
#include "support/text.h"

namespace kw {

namespace {

/// Maps NumPy type numbers to DType; -1 for others.
constexpr std::array<int8_t, NPY_HALF + 1> dtype_numbers = [] {
  std::array<int8_t, NPY_HALF + 1> table{};
  table.fill(-1);
  auto set = [&](int number, DType t) { table[static_cast<size_t>(number)] = static_cast<int8_t>(t); };
  constexpr bool wide = NPY_SIZEOF_LONG == 8;
  set(NPY_BOOL, DType::b1), set(NPY_BYTE, DType::i8), set(NPY_SHORT, DType::i16), set(NPY_INT, DType::i32);
  set(NPY_LONG, wide ? DType::i64 : DType::i32), set(NPY_LONGLONG, DType::i64);
  set(NPY_UBYTE, DType::u8), set(NPY_USHORT, DType::u16), set(NPY_UINT, DType::u32);
  set(NPY_ULONG, wide ? DType::u64 : DType::u32), set(NPY_ULONGLONG, DType::u64);
  set(NPY_HALF, DType::f16), set(NPY_FLOAT, DType::f32), set(NPY_DOUBLE, DType::f64);
  return table;
}();

/// NumPy's number of ml_dtypes.bfloat16, which that package registers on import; -1 while unknown.
std::atomic<int> bfloat16_number{-1};

/// Returns the DType of a type number of NumPy, or -1. Knows bfloat16 once its number is known.
inline int dtype_of_number(int number) {
  if (static_cast<unsigned>(number) < dtype_numbers.size()) return dtype_numbers[static_cast<size_t>(number)];
  bool met = number >= 0 && number == bfloat16_number.load(std::memory_order_relaxed);
  return met ? static_cast<int>(DType::bf16) : -1;
}

/// Returns the DType of a descriptor, or -1. Recognizes bfloat16 by name, without importing its package.
int dtype_of_descr(PyArray_Descr *d) {
  // numbers from NPY_USERDEF on are assigned as packages register dtypes, so only the name identifies them
  if (d->type_num < NPY_USERDEF) return dtype_of_number(d->type_num);
  std::string_view name = d->typeobj->tp_name;
  if (PyDataType_ELSIZE(d) != 2 || !name.ends_with("bfloat16")) return -1;
  bfloat16_number.store(d->type_num, std::memory_order_relaxed);
  return static_cast<int>(DType::bf16);
}

/// Returns the number of bfloat16; imports ml_dtypes if needed; -1 if it is missing.
int number_of_bfloat16() {
  if (int known = bfloat16_number.load(std::memory_order_relaxed); known >= 0) return known;
  PyRef module(PyImport_ImportModule("ml_dtypes"));
  PyRef type(module ? PyObject_GetAttrString(module.get(), "bfloat16") : nullptr);
  PyArray_Descr *descr = nullptr;
  if (type && PyArray_DescrConverter(type.get(), &descr)) dtype_of_descr(descr);
  Py_XDECREF(descr);
  PyErr_Clear();
  return bfloat16_number.load(std::memory_order_relaxed);
}

/// Returns NumPy's type number of a dtype, or -1 for bfloat16 without ml_dtypes. The table has the order of
/// DType.
int number_of_dtype(DType t) {
  if (t == DType::bf16) return number_of_bfloat16();
  static constexpr int numbers[] = {NPY_BOOL,  NPY_INT8,   NPY_INT16,  NPY_INT32,  NPY_INT64,
                                    NPY_UINT8, NPY_UINT16, NPY_UINT32, NPY_UINT64, NPY_HALF,
                                    -1,        NPY_FLOAT,  NPY_DOUBLE};
  return numbers[static_cast<size_t>(t)];
}

std::string type_name(PyObject *o) { return Py_TYPE(o)->tp_name; }

/// Returns the dtype as NumPy writes it, or "?" if that fails.
std::string dtype_text(PyArrayObject *a) {
  PyRef text(PyObject_Str(reinterpret_cast<PyObject *>(PyArray_DESCR(a))));
  const char *s = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  return s ? s : "?";
}

/// Returns whether compiled code can address the array: it is aligned to its items and its strides are
/// multiples of them. The stride of a dimension of at most one element is never used, so it is ignored.
bool regular_strides(PyArrayObject *a) {
  npy_intp item = PyArray_ITEMSIZE(a);
  for (int d = 0; d < PyArray_NDIM(a); ++d)
    if (PyArray_DIM(a, d) > 1 && PyArray_STRIDE(a, d) % item != 0) return false;
  return reinterpret_cast<uintptr_t>(PyArray_DATA(a)) % static_cast<uintptr_t>(item) == 0;
}

/// Returns how the runtime reads an array of this dtype. Valid until Python code runs, which may resize it.
ArrayView numpy_view(PyArrayObject *a, DType dtype) {
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  return {PyArray_DATA(a),
          reinterpret_cast<const int64_t *>(PyArray_DIMS(a)),
          reinterpret_cast<const int64_t *>(PyArray_STRIDES(a)),
          1,
          dtype,
          static_cast<uint8_t>(PyArray_NDIM(a)),
          PyArray_ISWRITEABLE(a)};
}

}  // namespace

ArrayView array_of(PyObject *o) {
  if (!o || !PyArray_Check(o)) return {};
  int dtype = dtype_of_array(o);
  return dtype < 0 ? ArrayView{}
                   : numpy_view(reinterpret_cast<PyArrayObject *>(o), static_cast<DType>(dtype));
}

namespace {

/// Raises E224 for an array, named by `subject`, whose elements are too far apart. Returns false.
bool refuse_reach(const std::string &subject) {
  raise_error(Code::E224, cat(subject, " reaches beyond 2^46 elements"));
  return false;
}

/// Returns whether the array is an np.matrix or a masked array, or derives from one. Kernels would ignore the
/// special meaning of such arrays. Compares names, so that neither module has to be imported.
bool refused_subclass(PyObject *o) {
  for (PyTypeObject *t = Py_TYPE(o); t && t != &PyArray_Type; t = t->tp_base)
    if (!std::strcmp(t->tp_name, "numpy.matrix") || !std::strcmp(t->tp_name, "matrix") ||
        std::strstr(t->tp_name, "MaskedArray"))
      return true;
  return false;
}

/// Checks dtype, byte order, rank and class of an array and sets `dtype` to the number of a DType. Returns
/// false with E102 or E221.
bool check_array(const KernelState &k, size_t i, PyArrayObject *a, int &dtype) {
  auto *o = reinterpret_cast<PyObject *>(a);
  dtype = dtype_of_descr(PyArray_DESCR(a));
  if (dtype < 0 && PyArray_ISCOMPLEX(a)) {
    raise_error(Code::E102,
                cat("argument '", parameter_name(k, i), "' of kernel '", k.name, "' is an array of dtype ",
                    dtype_text(a), ", which is not available yet"),
                "pass its real and its imaginary part");
    return false;
  }
  if (dtype < 0)
    return refuse_type(k, i, cat("an array of dtype ", dtype_text(a)), "convert it with .astype(...)");
  if (PyArray_DESCR(a)->byteorder == '>' || (PyArray_DESCR(a)->byteorder == '<' && !PyArray_ISNBO('<')))
    return refuse_type(
        k, i, cat("an array of foreign byte order (", dtype_text(a), ")"),
        cat("convert it with .astype(", i < k.parameters.names.size() ? parameter_name(k, i) : "a",
            ".dtype.newbyteorder('='))"));
  if (PyArray_NDIM(a) > static_cast<int>(max_rank))
    return refuse_type(
        k, i, cat("an array of ", PyArray_NDIM(a), " dimensions; at most ", max_rank, " are possible"), "");
  if (!PyArray_CheckExact(o) && refused_subclass(o))
    return refuse_type(k, i, with_article(type_name(o)), "pass a plain array: np.asarray(...)");
  return true;
}

/// Tests for the common case: a plain array, contiguous, aligned, of a dtype of ours in native byte order.
inline bool is_plain(PyObject *o) {
  if (!PyArray_CheckExact(o)) return false;
  auto *a = reinterpret_cast<PyArrayObject *>(o);
  constexpr int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  return (PyArray_FLAGS(a) & wanted) == wanted && dtype_of_number(PyArray_TYPE(a)) >= 0 &&
         PyArray_NDIM(a) <= static_cast<int>(max_rank) && PyArray_DESCR(a)->byteorder != '>';
}

/// Reads a plain array without checks that can raise. If it returns false, nothing was added and the general
/// reader can start.
inline bool read_plain_tensor(PyObject *o, CallFrame &f) {
  if (!is_plain(o)) return false;
  auto *a = reinterpret_cast<PyArrayObject *>(o);
  ArrayView view = numpy_view(a, static_cast<DType>(dtype_of_number(PyArray_TYPE(a))));
  // max_extent is a power of two: the bitwise or of the extents reaches it only if one of them does
  int64_t bits = 0;
  for (size_t d = 0; d < view.rank; ++d) bits |= view.extents[d];
  if (bits >= max_extent) return false;
  f.add(view, StrideClass::contiguous);
  return true;
}

/// Reads an array of any layout. An array with irregular strides is read as a contiguous copy; write_back()
/// copies the elements back if the kernel writes them.
bool read_tensor(const KernelState &k, size_t i, CallFrame &f) {
  auto *a = reinterpret_cast<PyArrayObject *>(f.args[i]);
  int dtype;
  if (!check_array(k, i, a, dtype)) return false;
  // before the copy, which reads all elements
  if (!is_in_reach(numpy_view(a, static_cast<DType>(dtype))))
    return refuse_reach(cat("argument '", parameter_name(k, i), "' of kernel '", k.name, "'"));
  if (!regular_strides(a)) {
    PyRef copy(PyArray_NewCopy(a, NPY_CORDER));
    if (!copy) return false;
    a = reinterpret_cast<PyArrayObject *>(copy.get());
    f.copies.emplace_back(std::move(copy), f.args[i]);
  }
  f.add(numpy_view(a, static_cast<DType>(dtype)));
  return true;
}

/// Adds a number. Returns true, for use in a return statement.
bool push_scalar(CallFrame &f, ArgKind kind, DType t, uint64_t bits) {
  f.add_number(kind, t, bits);
  return true;
}

/// Reads a NumPy scalar, which is strong: it keeps its dtype.
bool read_numpy_scalar(const KernelState &k, size_t i, CallFrame &f) {
  PyRef descr(reinterpret_cast<PyObject *>(PyArray_DescrFromScalar(f.args[i])));
  if (!descr) return false;
  int dtype = dtype_of_descr(reinterpret_cast<PyArray_Descr *>(descr.get()));
  if (dtype < 0) return refuse_type(k, i, with_article(type_name(f.args[i])), "pass a number");
  uint64_t bits = 0;
  if (static_cast<DType>(dtype) == DType::bf16) {  // NumPy cannot give its bits directly
    PyRef array(PyArray_FromScalar(f.args[i], nullptr));
    if (!array) return false;
    std::memcpy(&bits, PyArray_DATA(reinterpret_cast<PyArrayObject *>(array.get())), 2);
  } else {
    PyArray_ScalarAsCtype(f.args[i], &bits);
  }
  return push_scalar(f, ArgKind::strong_scalar, static_cast<DType>(dtype), bits);
}

/// Reads an argument that is not an array: Python numbers are weak, NumPy scalars strong. Refuses all other
/// objects, except a first argument that may be the `self` of a method.
bool read_other(const KernelState &k, size_t i, CallFrame &f) {
  PyObject *o = f.args[i];
  if (PyBool_Check(o)) return push_scalar(f, ArgKind::weak_scalar, DType::b1, o == Py_True);
  // exact types only: np.float64 derives from float, but is strong
  if (PyFloat_CheckExact(o)) {
    double v = PyFloat_AS_DOUBLE(o);
    uint64_t bits;
    std::memcpy(&bits, &v, 8);
    return push_scalar(f, ArgKind::weak_scalar, DType::f64, bits);
  }
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    auto v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) {
      raise_error(
          Code::E223,
          cat("argument '", parameter_name(k, i), "' of kernel '", k.name, "' does not fit into 64 bits"),
          "pass a float, or a smaller number");
      return false;
    }
    return push_scalar(f, ArgKind::weak_scalar, DType::i64, static_cast<uint64_t>(v));
  }
  if (PyArray_IsScalar(o, Generic)) return read_numpy_scalar(k, i, f);
  bool container = PyList_Check(o) || PyTuple_Check(o) || PyDict_Check(o) || PyUnicode_Check(o) ||
                   PyBytes_Check(o) || o == Py_None;
  if (i == 0 && !container &&
      k.parameters.names.size() > 1) {  // the `self` of a method; using it is an error of the compilation
    f.add_unused();
    return true;
  }
  std::string help = "pass a NumPy array or a number";
  if (PyList_Check(o) || PyTuple_Check(o)) help = "convert it: np.asarray(...)";
  return refuse_type(k, i, with_article(type_name(o)), help);
}

/// Reads the arrays of out= and copies irregular ones.
bool read_out(const KernelState &k, CallFrame &f) {
  for (size_t i = 0; i < f.out_count; ++i) {
    if (!f.outs[i] || is_plain(f.outs[i])) continue;
    if (!PyArray_Check(f.outs[i]))
      return refuse_type(k, max_args, with_article(type_name(f.outs[i])),
                         "pass an array, or a tuple with one array or None per output");
    int dtype;
    auto *a = reinterpret_cast<PyArrayObject *>(f.outs[i]);
    if (!check_array(k, max_args, a, dtype)) return false;
    if (!is_in_reach(numpy_view(a, static_cast<DType>(dtype))))
      return refuse_reach(cat("out= of kernel '", k.name, "'"));
    if (!regular_strides(a)) {
      PyRef copy(PyArray_NewCopy(a, NPY_CORDER));
      if (!copy) return false;
      f.outs[i] = copy.get();
      f.copies.emplace_back(std::move(copy), reinterpret_cast<PyObject *>(a));
    }
  }
  FixedList<ArrayView, max_outputs> outputs;
  for (size_t i = 0; i < f.out_count; ++i) outputs.push_back(array_of(f.outs[i]));
  f.add_outputs(outputs);
  return true;
}

}  // namespace

bool read_number(const KernelState &k, size_t i, CallFrame &f) { return read_other(k, i, f); }

bool refuse_history(const KernelState &k, size_t i) {
  return refuse_type(k, i, "a tensor that gradients go through",
                     cat("register the kernel: kw.register_op(\"namespace::", k.name, "\", ", k.name, ")"));
}

bool refuse_type(const KernelState &k, size_t i, const std::string &what, const std::string &help) {
  raise_error(Code::E221, cat("argument '", parameter_name(k, i), "' of kernel '", k.name, "' is ", what),
              help);
  return false;
}

std::string parameter_name(const KernelState &k, size_t i) {
  size_t shown = k.parameters.names.size();
  if (i < shown) return PyUnicode_AsUTF8(k.parameters.names[i].get());
  return i - shown < k.captured.arrays.size() ? k.captured.arrays[i - shown].first : "out";
}

int dtype_of_array(PyObject *array) {
  return dtype_of_descr(PyArray_DESCR(reinterpret_cast<PyArrayObject *>(array)));
}

bool import_numpy() { return _import_array() >= 0 && make_memory_handler(); }

/// Returns the advice for another library's array that NumPy cannot read.
static std::string help_for_foreign(PyObject *o, const std::string &name) {
  PyRef needs(PyObject_GetAttrString(o, "requires_grad")), dtype(PyObject_GetAttrString(o, "dtype"));
  PyErr_Clear();
  PyRef text(dtype ? PyObject_Str(dtype.get()) : nullptr);
  const char *dtype_name = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  if (needs && needs.get() == Py_True)
    return cat("pass ", name, ".detach(): kernels record no gradient of it");
  if (dtype_name && std::strstr(dtype_name, "bfloat16"))
    return cat("pass ", name, ".float(), or its bits as an array of ml_dtypes.bfloat16");
  return "pass an array in the memory of this process";
}

/// Replaces a tensor of ours by an array over its memory. Returns false with an exception.
static bool adopt_tensor(const KernelState &k, size_t i, PyObject *&o, CallFrame &f) {
  const Tensor &t = *tensor_of(o);
  if (t.history()) return refuse_history(k, i);
  PyRef view(array_over(t));
  if (!view) return false;
  PyObject *original = std::exchange(o, view.get());
  f.foreign.emplace_back(std::move(view), original);
  return true;
}

/// Replaces another library's array by its NumPy view; leaves other arguments unchanged.
static bool adopt_foreign(const KernelState &k, size_t i, CallFrame &f) {
  PyObject *o = f.args[i];
  // these are read directly, although NumPy's own objects also export the protocols
  if (PyArray_Check(o) || PyLong_Check(o) || PyFloat_Check(o) || PyArray_IsScalar(o, Generic)) return true;
  if (tensor_of(o)) return adopt_tensor(k, i, f.args[i], f);
  std::string why;
  PyRef view = view_of_foreign(o, why);
  if (PyErr_Occurred()) return false;
  // without a reason the object exports no protocol, so read_other decides
  if (!view)
    return why.empty() || refuse_type(k, i, cat(with_article(type_name(o)), " that NumPy cannot read: ", why),
                                      help_for_foreign(o, parameter_name(k, i)));
  if (!PyArray_Check(view.get())) return true;
  f.args[i] = view.get();
  f.foreign.emplace_back(std::move(view), o);
  return true;
}

bool read_arguments(const KernelState &k, CallFrame &f) {
  for (size_t i = 0; i < f.arg_count; ++i) {
    if (read_plain_tensor(f.args[i], f)) continue;
    if (!adopt_foreign(k, i, f)) return false;
    bool ok = PyArray_Check(f.args[i]) ? read_tensor(k, i, f) : read_other(k, i, f);
    if (!ok) return false;
  }
  for (size_t i = 0; i < f.out_count; ++i) {
    if (!f.given[i] || !tensor_of(f.given[i])) continue;
    if (!adopt_tensor(k, max_args, f.given[i], f)) return false;
    f.outs[i] = f.given[i];
  }
  // the following entries belong to out=: reread_out truncates the lists to these counts
  f.given_words = f.words.size(), f.given_strides = f.strides.size(), f.given_copies = f.copies.size();
  return !f.has_out || read_out(k, f);
}

bool reread_out(const KernelState &k, CallFrame &f) {
  for (size_t i = 0; i < f.out_count; ++i)
    if (f.temporaries >> i & 1u) {
      f.outs[i] = nullptr;  // an argument that is the same array keeps its copy
      auto outputs = f.copies.begin() + static_cast<ptrdiff_t>(f.given_copies);
      f.copies.erase(std::remove_if(outputs, f.copies.end(), [&](auto &c) { return c.second == f.given[i]; }),
                     f.copies.end());
    }
  // other outputs keep their copies in `outs`; these are regular and are not copied again
  f.words.truncate(f.given_words), f.strides.truncate(f.given_strides);
  return read_out(k, f);
}

/// Reads out=: None, one array, or a tuple with an array or None for each output. Returns false with E221.
static bool set_out(const KernelState &k, PyObject *out, CallFrame &f) {
  f.has_out = out != Py_None;
  if (!PyTuple_Check(out)) {
    f.outs[0] = f.given[0] = out == Py_None ? nullptr : out;
    f.out_count = f.has_out;
    return true;
  }
  if (PyTuple_GET_SIZE(out) > static_cast<Py_ssize_t>(max_outputs))
    return refuse_type(k, max_args, cat("a tuple of more than ", max_outputs, " arrays"), "");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); ++i) {
    PyObject *o = PyTuple_GET_ITEM(out, i);
    f.outs[f.out_count] = f.given[f.out_count] = o == Py_None ? nullptr : o;
    ++f.out_count;
  }
  return true;
}

/// Binds a keyword to the parameter of its name, or to out=. Returns false with an exception.
static bool set_keyword(const KernelState &k, PyObject *key, PyObject *value, CallFrame &f) {
  static PyObject *const out_key = PyUnicode_InternFromString("out");
  // interned names are compared by address; a parameter named `out` takes precedence over out=
  if (key == out_key && !k.parameters.has_out_parameter) return set_out(k, value, f);
  for (size_t p = k.parameters.positional_only; p < k.parameters.names.size(); ++p) {
    int same =
        key == k.parameters.names[p].get() ? 1 : PyUnicode_Compare(key, k.parameters.names[p].get()) == 0;
    if (!same) continue;
    if (f.args[p])
      return PyErr_Format(PyExc_TypeError, "%s got multiple values for argument '%U'", call_form(k).c_str(),
                          key),
             false;
    f.args[p] = value;
    return true;
  }
  // an `out` that is not interned
  if (!k.parameters.has_out_parameter && PyUnicode_CompareWithASCIIString(key, "out") == 0)
    return set_out(k, value, f);
  PyErr_Format(PyExc_TypeError, "%s got an unexpected keyword argument '%U'", call_form(k).c_str(), key);
  return false;
}

bool bind_arguments(const KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames,
                    CallFrame &f) {
  size_t count = k.parameters.names.size();
  if (nargs > count) {
    PyErr_Format(PyExc_TypeError, "%s takes %zu argument%s but %zu were given", call_form(k).c_str(), count,
                 count == 1 ? "" : "s", nargs);
    return false;
  }
  f.arg_count = count + k.captured.arrays.size();
  ensure(f.arg_count <= max_args, "more arguments than a call can have");  // bind_call reported E112
  // captured arrays are the last arguments; the caller does not pass them
  for (size_t i = 0; i < k.captured.arrays.size(); ++i) f.args[count + i] = k.captured.arrays[i].second.get();
  std::copy(args, args + nargs, f.args);
  // the common case: all arguments are positional
  if (nargs == count && !kwnames) return true;
  std::fill(f.args + nargs, f.args + count, nullptr);
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (!set_keyword(k, PyTuple_GET_ITEM(kwnames, i), args[nargs + static_cast<size_t>(i)], f)) return false;
  for (size_t p = 0; p < count; ++p) {
    // holds the tuple of defaults too, because the function may get other defaults during the call
    if (!f.args[p] && k.parameters.defaults[p])
      f.args[p] = k.parameters.defaults[p].get(), f.defaults = k.default_values;
    if (f.args[p]) continue;
    PyErr_Format(PyExc_TypeError, "%s is missing the argument '%U'", call_form(k).c_str(),
                 k.parameters.names[p].get());
    return false;
  }
  return true;
}

const void *output_descr(DType dtype) {
  int number = number_of_dtype(dtype);
  if (number < 0) return nullptr;
  PyArray_Descr *descr = PyArray_DescrFromType(number);
  // NumPy never frees its dtype object, so the pointer stays valid without a reference
  Py_DECREF(descr);
  return descr;
}

int64_t bytes_of(DType dtype, size_t rank, const int64_t *extents) {
  uint64_t bytes = item_size(dtype);  // wraps if an extent of 0 follows huge ones
  for (size_t d = 0; d < rank; ++d) bytes *= static_cast<uint64_t>(extents[d]);
  return static_cast<int64_t>(bytes);
}

PyObject *new_array(DType dtype, size_t rank, const int64_t *extents, bool zeroed) {
  int number = number_of_dtype(dtype);
  if (number < 0)
    return raise_error(Code::E102,
                       "an output of dtype bfloat16 needs the package ml_dtypes, which is missing",
                       "pip install ml_dtypes"),
           nullptr;
  return new_result(PyArray_DescrFromType(number), rank, extents,
                    static_cast<size_t>(bytes_of(dtype, rank, extents)), zeroed);
}

bool check_out(const KernelState &k, const LoadedKernel &kernel, const CallFrame &f,
               const int64_t *out_extents) {
  size_t out = 0, at = 0;
  for (const ParamRecord &p : kernel.artifact().params) {
    if (p.mode != ParamMode::out) continue;
    // `given`, not `outs`, because messages are about the array that the caller passed
    auto *a = out < f.out_count ? reinterpret_cast<PyArrayObject *>(f.given[out]) : nullptr;
    bool same =
        !a || (PyArray_NDIM(a) == p.rank && dtype_of_number(PyArray_TYPE(a)) == static_cast<int>(p.dtype));
    for (size_t d = 0; a && same && d < p.rank; ++d)
      same = PyArray_DIM(a, static_cast<int>(d)) == out_extents[at + d];
    if (!same) {
      int64_t dims[max_rank];
      for (int d = 0; d < PyArray_NDIM(a) && d < static_cast<int>(max_rank); ++d) dims[d] = PyArray_DIM(a, d);
      raise_error(Code::E222, cat("out= of kernel '", k.name, "' for '", p.name, "' is ", dtype_text(a), " ",
                                  shape_text({dims, static_cast<size_t>(PyArray_NDIM(a))}), " but must be ",
                                  numpy_name(p.dtype), " ", shape_text({out_extents + at, p.rank})));
      return false;
    }
    at += p.rank;
    ++out;
  }
  return true;
}

bool check_out_count(const KernelState &k, const LoadedKernel &kernel, const CallFrame &f) {
  size_t outputs = kernel.output_count();
  if (outputs == f.out_count) return true;
  raise_error(Code::E222,
              cat("out= of kernel '", k.name, "' has ", f.out_count, f.out_count == 1 ? " entry" : " entries",
                  " for ", counted(outputs, "output")),
              outputs ? "give one array or None per output_tensor" : "call it without out=");
  return false;
}

bool check_written(const KernelState &k, const CallPlan &plan, CallFrame &f) {
  CallArrays arrays;
  auto is_copied = [&](PyObject *o) {
    return std::any_of(f.copies.begin(), f.copies.end(), [&](const auto &c) { return c.second == o; });
  };
  for (size_t i = 0; i < f.arg_count; ++i) {
    arrays.arguments.push_back(array_of(f.args[i]));
    arrays.copied_arguments |= uint64_t{is_copied(f.args[i])} << i;
  }
  for (size_t i = 0; i < f.out_count; ++i) {
    arrays.outputs.push_back(array_of(f.given[i]));
    arrays.copied_outputs |= uint64_t{is_copied(f.given[i])} << i;
  }
  auto refused = kw::check_written(f, arrays, plan.main->artifact(), k.name);
  if (refused) raise_error(Code::E222, refused->message, refused->help);
  return !refused;
}

bool zero_array(PyObject *array) {
  auto *a = reinterpret_cast<PyArrayObject *>(array);
  // zero has no set bits in any dtype
  if (PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS) {
    std::memset(PyArray_DATA(a), 0, static_cast<size_t>(PyArray_NBYTES(a)));
    return true;
  }
  PyRef zero(PyLong_FromLong(0));
  return zero && PyArray_FillWithScalar(a, zero.get()) == 0;
}

std::vector<int64_t> shape_of_array(PyObject *array) {
  auto *a = reinterpret_cast<PyArrayObject *>(array);
  return {PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a)};
}

bool copy_array(PyObject *to, PyObject *from) {
  return PyArray_CopyInto(reinterpret_cast<PyArrayObject *>(to), reinterpret_cast<PyArrayObject *>(from)) ==
         0;
}

void *array_data(PyObject *array) { return PyArray_DATA(reinterpret_cast<PyArrayObject *>(array)); }

bool write_back(const LoadedKernel &kernel, CallFrame &f) {
  for (size_t i = 0; i < f.copies.size(); ++i) {
    // copies of arguments that the kernel only reads are not written back
    auto &[copy, original] = f.copies[i];
    PyObject *target = original;
    bool written = i >= f.given_copies;  // a copy of an out= array
    for (const ParamRecord &p : kernel.artifact().params)
      written |= p.mode == ParamMode::inout && f.args[p.arg] == target;
    if (written && PyArray_CopyInto(reinterpret_cast<PyArrayObject *>(target),
                                    reinterpret_cast<PyArrayObject *>(copy.get())) < 0)
      return false;
  }
  return true;
}

}  // namespace kw
