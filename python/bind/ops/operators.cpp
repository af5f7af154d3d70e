// Operators as Python objects: calls, creation and lookup.
#include "bind/ops/operators.h"

#include <pybind11/stl.h>
#include <structmember.h>

#include <algorithm>

#include "bind/dispatch/dispatch.h"
#include "bind/dispatch/log.h"
#include "bind/dispatch/state.h"
#include "bind/dispatch/tensor.h"
#include "bind/ops/bodies.h"
#include "bind/ops/gradients.h"
#include "bind/ops/values.h"
#include "runtime/aot/aot_kernel.h"
#include "runtime/calls/tape.h"
#include "runtime/jit.h"
#include "runtime/ops/ops.h"
#include "support/build_id.h"
#include "support/text.h"

namespace py = pybind11;

namespace kw {

namespace {

/// The Python object of an operator. It shares `op` with the registry and with recorded calls.
struct OperatorObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::shared_ptr<const Operator> op;
  bool tuple;            ///< a single output is returned in a tuple too
  PyTypeObject *class_;  ///< class of results of calls without tensors
};

PyTypeObject *operator_type = nullptr;

OperatorObject *as_operator(PyObject *o) { return reinterpret_cast<OperatorObject *>(o); }

/// Reads a call from Python objects.
struct CallReader {
  OpCall call;
  std::vector<std::pair<size_t, PyObject *>> numbers;   ///< index and object of Python numbers
  PyTypeObject *result = nullptr, *fallback = nullptr;  ///< result classes; fallback: no input has one

  /// Names a declared input in messages: "input 'x' of kw::add".
  std::string what(size_t input) const {
    const OpDef &def = call.op->def;
    return cat("input '", def.inputs[input].name, "' of ", def.name);
  }

  void add(Tensor t) { call.inputs.push_back(std::move(t)); }

  /// Reads one tensor of a declared input: a tensor, an array, None for an optional one, or a number. A
  /// number waits for read_numbers(), because its dtype depends on the tensors.
  void read_tensor(PyObject *o, size_t input) {
    if (const Tensor *t = tensor_of(o)) [[likely]] {
      // the first tensor with a result class decides the class of the results
      if (!result) result = result_class(o);
      return add(*t);
    }
    bool optional = call.op->def.inputs[input].is_optional();
    if (o == Py_None && optional) return add({});
    if (PyFloat_CheckExact(o) || PyLong_Check(o)) {
      numbers.emplace_back(call.inputs.size(), o);
      return add({});
    }
    bool is_mutable = call.op->def.inputs[input].is_mutable, copied = false;
    Tensor t = tensor_from_python(o, what(input), &copied);
    if (copied && is_mutable)
      throw_value_error(cat(what(input),
                            " is written, but its elements do not lie at multiples of their size: pass an "
                            "aligned array"));
    add(std::move(t));
  }

  /// Reads a declared input, one tensor or a sequence of them, and stores their number in `call.counts`.
  void read_input(PyObject *o, size_t input) {
    if (!call.op->def.inputs[input].is_list()) {
      read_tensor(o, input);
      call.counts.push_back(1);
      return;
    }
    if (!PyTuple_Check(o) && !PyList_Check(o))
      throw_type_error(cat(what(input), " is ", with_article(Py_TYPE(o)->tp_name),
                           ", but must be a tuple or list of tensors"));
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; ++i) read_tensor(PySequence_Fast_GET_ITEM(o, i), input);
    call.counts.push_back(static_cast<uint32_t>(n));
  }

  /// Converts numbers to the dtype of the first tensor that is not bool, if that dtype can hold their kind.
  ///     add(x: float32, 2): 2 is float32      add(i: int64, 0.5): 0.5 is float64
  void read_numbers() {
    std::optional<DType> beside;
    for (const Tensor &t : call.inputs)
      if (t && (!beside || *beside == DType::b1)) beside = t.dtype();
    for (auto [at, o] : numbers) {
      bool truth = PyBool_Check(o), real = PyFloat_Check(o);
      DType alone = truth ? DType::b1 : real ? DType::f64 : DType::i64;
      DType dtype = beside.value_or(alone);
      if ((real && !is_float(dtype)) || (!truth && dtype == DType::b1)) dtype = alone;
      if (real) {
        call.inputs[at] = ops::number(dtype, PyFloat_AS_DOUBLE(o));
        continue;
      }
      int overflow = 0;
      int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (overflow || !ops::fits(dtype, v)) {
        PyErr_Format(PyExc_OverflowError, "the number %S beside a tensor does not fit into its dtype %s", o,
                     std::string(numpy_name(dtype)).c_str());
        throw py::error_already_set();
      }
      call.inputs[at] = ops::integer(dtype, v);
    }
  }

  bool has_dynamic() const {
    const auto &inputs = call.op->def.inputs;
    return std::any_of(inputs.begin(), inputs.end(), [](const OpInput &i) { return i.is_list(); });
  }

  /// Reads the values of a call: inputs, then attributes, each by position or by keyword. Throws OpError if
  /// one is unknown, missing or given twice.
  void read(PyObject *const *args, size_t nargs, PyObject *kwnames) {
    const OpDef &def = call.op->def;
    size_t most = def.inputs.size() + def.attrs.size();
    if (nargs > most)
      throw_type_error(cat(def.name, " takes ", counted(def.inputs.size(), "input"), " and ",
                           counted(def.attrs.size(), "attribute"), ", but ", nargs, " values were given"));
    call.inputs.reserve(def.inputs.size());
    if (nargs == def.inputs.size() && !kwnames && !has_dynamic()) {  // tensors only, like most calls
      for (size_t i = 0; i < nargs; ++i) read_tensor(args[i], i);
      if (!numbers.empty()) read_numbers();
      return;
    }
    // one slot per input, then one per attribute; null if not given
    std::vector<PyObject *> values(most, nullptr);
    std::copy(args, args + nargs, values.begin());
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
      read_keyword(utf8(PyTuple_GET_ITEM(kwnames, i)), args[nargs + static_cast<size_t>(i)], values);
    for (size_t i = 0; i < def.inputs.size(); ++i) {
      if (!values[i] && def.inputs[i].is_optional()) values[i] = Py_None;
      if (!values[i]) throw_type_error(cat(what(i), " is missing"));
      read_input(values[i], i);
    }
    // omitted attributes get their defaults when the call is checked
    for (size_t a = 0; a < def.attrs.size(); ++a)
      if (PyObject *v = values[def.inputs.size() + a])
        call.attrs.emplace_back(def.attrs[a].name, attr_from_python(v, def.attrs[a].name));
    if (!numbers.empty()) read_numbers();
  }

  /// Stores the value of a keyword in the slot of the input or attribute of that name.
  void read_keyword(const std::string &name, PyObject *value, std::vector<PyObject *> &values) const {
    const OpDef &def = call.op->def;
    size_t at = 0;
    for (; at < values.size(); ++at)
      if (name == (at < def.inputs.size() ? def.inputs[at].name : def.attrs[at - def.inputs.size()].name))
        break;
    if (at == values.size()) throw_type_error(cat(def.name, " has no input or attribute '", name, "'"));
    if (values[at]) throw_type_error(cat("'", name, "' of ", def.name, " is given twice"));
    values[at] = value;
  }

  /// Returns the Python object of an output. An output that is an input, changed in place, is the object that
  /// was passed.
  PyObject *object_of(Tensor out, PyObject *const *args, Py_ssize_t count) const {
    for (Py_ssize_t i = 0; i < count; ++i)
      if (const Tensor *t = tensor_of(args[i]); t && t->is(out)) return Py_NewRef(args[i]);
    return tensor_to_python(std::move(out), result ? result : fallback).release().ptr();
  }
};

/// Calls op(inputs…, attributes…); returns the output, or a tuple of outputs.
PyObject *operator_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  LogPasser log;
  return calling([&]() -> PyObject * {
    // values of keywords follow the positional ones; object_of searches all of them
    Py_ssize_t positional = PyVectorcall_NARGS(nargsf),
               count = positional + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    CallReader r;
    r.call.op = as_operator(self)->op;
    r.fallback = as_operator(self)->class_;
    r.read(args, static_cast<size_t>(positional), kwnames);
    std::vector<Tensor> outputs = call_op(std::move(r.call));
    if (outputs.size() == 1 && !as_operator(self)->tuple)
      return r.object_of(std::move(outputs[0]), args, count);
    py::tuple out(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      out[i] = py::reinterpret_steal<py::object>(r.object_of(std::move(outputs[i]), args, count));
    return out.release().ptr();
  });
}

void operator_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  as_operator(self)->op.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *operator_repr(PyObject *self) {
  return calling(
      [&] { return PyUnicode_FromString(cat("<operator ", as_operator(self)->op->def.name, ">").c_str()); });
}

PyObject *operator_name(PyObject *self, void *) {
  return PyUnicode_FromString(as_operator(self)->op->def.name.c_str());
}

PyGetSetDef operator_getset[] = {{"name", operator_name, nullptr, "\"namespace::name\".", nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyObject *make_operator_type() {
  PyType_Slot slots[] = {{Py_tp_dealloc, slot(operator_dealloc)},
                         {Py_tp_call, slot(PyVectorcall_Call)},
                         {Py_tp_repr, slot(operator_repr)},
                         {Py_tp_members, operator_members},
                         {Py_tp_getset, operator_getset},
                         {Py_tp_doc, const_cast<char *>("An operator of the registry; called with tensors.")},
                         {0, nullptr}};
  PyType_Spec spec{"kernelwright._core.Operator", sizeof(OperatorObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  PyObject *type = PyType_FromSpec(&spec);
  operator_type = reinterpret_cast<PyTypeObject *>(type);
  return type;
}

/// Returns a new object for an operator. Results of calls without tensors are of class `type`.
py::object wrap_operator(std::shared_ptr<const Operator> op, bool tuple = false,
                         PyTypeObject *type = nullptr) {
  PyObject *self = operator_type->tp_alloc(operator_type, 0);
  if (!self) throw py::error_already_set();
  as_operator(self)->vectorcall = operator_vectorcall;
  new (&as_operator(self)->op) std::shared_ptr<const Operator>(std::move(op));
  as_operator(self)->tuple = tuple;
  as_operator(self)->class_ = type ? type : default_result_class();
  return py::reinterpret_steal<py::object>(self);
}

/// Returns the operator of an object. Throws OpError for other objects.
const Operator &operator_of(py::handle o) {
  if (!PyObject_TypeCheck(o.ptr(), operator_type)) throw_type_error("expected an operator");
  return *as_operator(o.ptr())->op;
}

/// Base of classes whose instances are mostly called with tensors. Such calls with a fixed number of
/// arguments go directly to an operator; all others go to the method `_call` as a tuple.
struct FastCallProxyObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *operator_;  ///< an OperatorObject, or null
  Py_ssize_t count;     ///< number of arguments of a call that goes directly to the operator
};

FastCallProxyObject *as_short(PyObject *o) { return reinterpret_cast<FastCallProxyObject *>(o); }

/// Returns whether the pending error says that no kernel of the operator takes the dtypes. Nothing has run
/// then, and `_call` reports the error in its own words.
bool found_no_kernel(PyObject *op) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyRef name(value ? PyObject_GetAttrString(value, "operator") : nullptr);
  PyErr_Clear();
  bool found = name && utf8(name.get()) == as_operator(op)->op->def.name;
  PyErr_Restore(type, value, trace);
  return found;
}

/// Returns a new tuple of the items, or null with an exception.
PyRef tuple_of(PyObject *const *items, Py_ssize_t count) {
  PyRef tuple(PyTuple_New(count));
  for (Py_ssize_t i = 0; tuple && i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(items[i]));
  return tuple;
}

/// Calls such an object.
PyObject *call_short(PyObject *self, PyObject *const *args, Py_ssize_t count, bool has_keywords) {
  PyObject *op = as_short(self)->operator_;
  if (op && count == as_short(self)->count && !has_keywords && std::all_of(args, args + count, tensor_of)) {
    // held, because the call may run Python code that sets another operator
    PyRef held(Py_NewRef(op));
    PyObject *result = operator_vectorcall(op, args, static_cast<size_t>(count), nullptr);
    if (result || !found_no_kernel(op)) return result;
    PyErr_Clear();
  }
  if (has_keywords)
    return PyErr_Format(PyExc_TypeError,
                        "custom operators take no keyword arguments: pass inputs and attributes "
                        "by position, in the order of the function");
  PyRef tuple = tuple_of(args, count);
  return tuple ? PyObject_CallMethod(self, "_call", "(O)", tuple.get()) : nullptr;
}

/// Implements tp_call, for callers that do not use vectorcall.
PyObject *short_call(PyObject *self, PyObject *args, PyObject *named) {
  bool has_keywords = named && PyDict_GET_SIZE(named) > 0;
  return call_short(self, PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args), has_keywords);
}

/// Calls `__call__` of a class that got its own after its objects were created.
PyObject *call_as_class_says(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
  PyRef given = tuple_of(args, count), named(kwnames ? PyDict_New() : nullptr);
  if (!given || (kwnames && !named)) return nullptr;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i), args[count + i]) < 0) return nullptr;
  return Py_TYPE(self)->tp_call(self, given.get(), named.get());
}

PyObject *short_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  if (Py_TYPE(self)->tp_call != short_call) return call_as_class_says(self, args, count, kwnames);
  return call_short(self, args, count, kwnames && PyTuple_GET_SIZE(kwnames) > 0);
}

PyObject *short_new(PyTypeObject *type, PyObject *, PyObject *) {
  // before CPython 3.12 classes made in Python do not inherit the flag, and calls of their objects build a
  // tuple
  if (type->tp_call == short_call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyObject *self = type->tp_alloc(type, 0);
  if (self) as_short(self)->vectorcall = short_vectorcall;
  return self;
}

void short_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  Py_CLEAR(as_short(self)->operator_);
  type->tp_free(self);
  Py_DECREF(type);
}

/// Implements _set_short(operator, count).
PyObject *set_short(PyObject *self, PyObject *args) {
  PyObject *op = nullptr;
  Py_ssize_t count = 0;
  if (!PyArg_ParseTuple(args, "O!n", operator_type, &op, &count)) return nullptr;
  Py_XSETREF(as_short(self)->operator_, Py_NewRef(op));
  as_short(self)->count = count;
  return Py_NewRef(Py_None);
}

PyMemberDef short_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FastCallProxyObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef short_methods[] = {
    {"_set_short", set_short, METH_VARARGS, "The operator for calls of one length."},
    {nullptr, nullptr, 0, nullptr}};

PyObject *make_short_call_type() {
  PyType_Slot slots[] = {{Py_tp_new, slot(short_new)},
                         {Py_tp_dealloc, slot(short_dealloc)},
                         {Py_tp_call, slot(short_call)},
                         {Py_tp_members, short_members},
                         {Py_tp_methods, short_methods},
                         {Py_tp_doc, const_cast<char *>("Base of what is called with tensors.")},
                         {0, nullptr}};
  PyType_Spec spec{"kernelwright._core.FastCallProxy", sizeof(FastCallProxyObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  return PyType_FromSpec(&spec);
}

/// Returns the registry's data of an operator, for users. The keys are name, source, inputs, outputs, attrs,
/// kernels, infers and gradient.
py::dict describe(const Operator &op) {
  py::list inputs, outputs, attrs, kernels;
  for (const OpInput &i : op.def.inputs)
    inputs.append(py::make_tuple(i.name,
                                 i.is_list()       ? "dynamic"
                                 : i.is_optional() ? "optional"
                                                   : "required",
                                 i.is_mutable));
  for (const OpAttr &a : op.def.attrs)
    attrs.append(py::make_tuple(a.name, std::string(attr_type_name(a.type)), a.fallback.has_value(),
                                attr_to_python(a.fallback.value_or(Attr()))));
  for (const KernelDef &k : op.kernels) {
    py::list rows;
    for (const DTypeRow &row : k.rows) {
      py::list dtypes;
      for (const auto &t : row) dtypes.append(t ? std::string(numpy_name(*t)) : "any");
      rows.append(dtypes);
    }
    kernels.append(py::make_tuple(std::string(body_name(k.kind)),
                                  std::string(k.device ? device_name(*k.device) : "any"), rows,
                                  k.predicate.text, k.priority, k.source));
  }
  py::dict out;
  out["name"] = op.def.name;
  out["source"] = op.def.source;
  out["inputs"] = inputs;
  for (const OpOutput &o : op.def.outputs) outputs.append(o.name);
  out["outputs"] = outputs;
  out["attrs"] = attrs;
  out["kernels"] = kernels;
  out["infers"] = static_cast<bool>(op.def.infer);
  out["gradient"] =
      op.grad
          ? py::object(py::make_tuple(std::string(grad_name(op.grad->kind)), op.grad->source, op.grad->why))
          : py::none();
  return out;
}

/// Makes a kernel of the function `name` in a library, with the attributes `given`. An empty image means that
/// the file at `path` is loaded.
std::shared_ptr<AotKernel> open_library(const py::bytes &image, const std::string &path,
                                        const std::string &name, const py::dict &given) {
  return raising([&] {
    Attrs attrs;
    for (auto [key, value] : given) {
      auto attr = py::cast<std::string>(key);
      attrs.emplace_back(attr, attr_from_python(value, attr));
    }
    return std::make_shared<AotKernel>(std::string_view(image), path, name, std::move(attrs));
  });
}

/// Runs a kernel for GPUs on tensors of a GPU. Returns its outputs of these (dtype, shape).
py::list run_on_device(AotKernel &kernel, py::handle inputs, const py::list &types) {
  return raising([&] {
    std::vector<Tensor> from = tensors_from(inputs), to;
    Device device = from.at(0).device();  // calls without tensors run on the CPU
    for (Tensor &t : from)
      if (!t.is_contiguous()) t = t.to(device);
    for (py::handle o : types) {
      TensorType type = type_from_python(o);
      to.push_back(Tensor::zeros(type.dtype, type.shape, device));
    }
    {
      py::gil_scoped_release released;  // before the kernel's own lock is taken
      kernel.run(from, to);
    }
    py::list out;
    for (Tensor &t : to) out.append(tensor_to_python(std::move(t), default_result_class()));
    return out;
  });
}

/// The lock of a library's key, as a context manager.
class LibraryLock {
 public:
  explicit LibraryLock(std::string key) : key_(std::move(key)) {}
  void enter() {
    py::gil_scoped_release released;  // its owner may need the GIL
    lock_ = process_jit().lock_code(key_);
  }
  void leave() { lock_.reset(); }

 private:
  std::string key_;
  std::unique_ptr<CompileLock> lock_;
};

/// Adds the store of compiled libraries and the class AotKernel, which calls their functions.
void bind_libraries(py::module_ &m) {
  m.def("find_library", [](const std::string &key) -> py::object {
    auto found = process_jit().find_code(key, CodeKind::library);
    return found ? py::object(py::bytes(found->code)) : py::none();
  });
  m.def("store_library", [](const std::string &key, const std::string &name, const std::string &image) {
    Artifact a;
    a.key = key, a.name = name, a.from = build_id();
    a.code_kind = CodeKind::library;
    a.code = image;
    process_jit().store_code(a);
  });
  py::class_<LibraryLock>(m, "LibraryLock")
      .def(py::init<std::string>())
      .def("__enter__", &LibraryLock::enter)
      .def("__exit__", [](LibraryLock &lock, const py::args &) { lock.leave(); });
  py::class_<AotKernel, std::shared_ptr<AotKernel>>(m, "AotKernel")
      .def(py::init(&open_library))
      .def_property_readonly("device",
                             [](const AotKernel &k) { return std::string(device_name(k.device())); })
      .def_property_readonly("infers_shapes", &AotKernel::infers_shapes)
      .def_property_readonly("infers_types", &AotKernel::infers_types)
      .def("infer_shapes",
           [](AotKernel &k, py::handle inputs, bool several) {
             return raising([&] { return k.infer_shapes(tensors_from(inputs), several); });
           })
      .def("infer_types",
           [](AotKernel &k, py::handle inputs, bool several) {
             return raising([&] {
               std::vector<std::string> names;
               for (DType t : k.infer_types(tensors_from(inputs), several)) names.emplace_back(numpy_name(t));
               return names;
             });
           })
      .def("run",
           [](AotKernel &k, py::handle inputs, py::handle outputs) {
             raising([&] {
               std::vector<Tensor> from = tensors_from(inputs), to = tensors_from(outputs);
               py::gil_scoped_release released;  // before the kernel's own lock is taken
               k.run(from, to);
               return 0;
             });
           })
      .def("run_on_device", run_on_device);
}

}  // namespace

void bind_operators(py::module_ &m) {
  bind_libraries(m);
  PyObject *tensor = make_tensor_type();
  if (!tensor) throw py::error_already_set();
  m.attr("Tensor") = py::reinterpret_steal<py::object>(tensor);
  m.attr("Operator") = py::reinterpret_steal<py::object>(make_operator_type());
  m.attr("FastCallProxy") = py::reinterpret_steal<py::object>(make_short_call_type());
  m.def("add_result_class",
        [](py::handle type) { add_result_class(reinterpret_cast<PyTypeObject *>(type.ptr())); });
  m.def("operator_names", [] { return registry().names(); });
  m.def("find_operator", [](const std::string &name) {
    return raising([&] { return wrap_operator(registry().need(name)); });
  });
  m.def("describe_operator",
        [](py::handle op) { return raising([&] { return describe(operator_of(op)); }); });
  m.def("check_gradients", check_gradients);
  m.def("remove_operator", [](const std::string &name) {
    return raising([&] {
      if (name.starts_with("kw::")) throw_value_error(cat("'", name, "' is built in"));
      return registry().remove(name);
    });
  });
  m.def("make_operator", [](const py::dict &spec, bool is_registered, bool tuple) {
    return raising([&] {
      auto *type = reinterpret_cast<PyTypeObject *>(spec["tensor_class"].ptr());
      return wrap_operator(operator_from_python(spec, is_registered), tuple, type);
    });
  });
  // returns (dtype, shape) of each result of a kernel for these arguments; the kernel does not run
  m.def("output_types", [](py::handle kernel, const py::tuple &args) {
    return raising([&] {
      KernelState *k = state_of(kernel.ptr());
      std::vector<TensorType> types;
      if (!k || !infer_outputs(*k, PySequence_Fast_ITEMS(args.ptr()), args.size(), types))
        throw py::error_already_set();
      py::list out;
      for (const TensorType &t : types) out.append(type_to_python(t));
      return out;
    });
  });
  m.def("is_recording", is_recording);
  bind_gradients(m);
}

}  // namespace kw
