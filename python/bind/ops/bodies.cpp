// Python functions as bodies, inference and gradients. They run with the GIL, in the calling thread.
#include "bind/ops/bodies.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <tuple>

#include "bind/dispatch/dispatch.h"
#include "bind/dispatch/tensor.h"
#include "bind/ops/values.h"
#include "runtime/calls/tape.h"
#include "runtime/ops/ops.h"
#include "support/text.h"

namespace py = pybind11;

namespace kw {

namespace {

/// Shares a Python object so that C++ may copy and drop it without the GIL.
std::shared_ptr<py::object> shared(py::object o) {
  return {new py::object(std::move(o)), [](py::object *held) {
            if (!Py_IsInitialized()) return;  // the interpreter frees it
            py::gil_scoped_acquire gil;
            delete held;
          }};
}

/// Acquires the GIL unless the thread holds it, which it does in C++ calls from Python.
class GilHeld {
 public:
  GilHeld() {
    if (!PyGILState_Check()) gil_.emplace();
  }

 private:
  std::optional<py::gil_scoped_acquire> gil_;
};

/// Returns the inputs of a call, dynamic ones as tuples, and its attributes.
///    inputs x and dynamic ys with two tensors, attribute axis → x, (y0, y1), axis
/// `more` is the number of values that the caller appends.
template <class Convert>
std::vector<py::object> arguments(const OpCall &call, Convert &&convert, size_t more = 0) {
  std::vector<py::object> out;
  out.reserve(call.op->def.inputs.size() + call.attrs.size() + more);
  size_t at = 0;
  for (size_t i = 0; i < call.op->def.inputs.size(); ++i) {
    size_t n = call.counts.empty() ? 1 : call.counts[i];
    if (!call.op->def.inputs[i].is_list()) {
      out.push_back(convert(call.inputs[at++]));
      continue;
    }
    py::tuple several(n);
    for (size_t k = 0; k < n; ++k) several[k] = convert(call.inputs[at++]);
    out.push_back(std::move(several));
  }
  for (const auto &[name, value] : call.attrs) out.push_back(attr_to_python(value));
  return out;
}

bool has_weak_references(PyObject *o) {
  Py_ssize_t at = Py_TYPE(o)->tp_weaklistoffset;
  return at > 0 && *reinterpret_cast<PyObject **>(reinterpret_cast<char *>(o) + at);
}

/// Returns a result as an independent array: copies it if other code may still change it, or if it is part of
/// another array.
py::object own_array(py::object array) {
  // `array` and the variable or tuple of the caller hold one reference each; a third one, and a weak one,
  // belong to other code
  bool is_shared = Py_REFCNT(array.ptr()) > 2 || has_weak_references(array.ptr()) ||
                   (py::hasattr(array, "base") && !array.attr("base").is_none());
  return is_shared && py::hasattr(array, "copy") ? py::object(array.attr("copy")()) : array;
}

/// Returns what a kernel of Python gets for an input: an array over its memory, or of a device a tensor.
PyObject *input_object(const Tensor &t, bool writable) {
  if (!t) return Py_NewRef(Py_None);
  if (t.device().kind == DeviceKind::cpu) return array_over(t, writable);
  return wrap_tensor(default_result_class(), writable ? t.detached() : t.detached().read_only());
}

/// Runs a kernel that takes and returns arrays. Inputs that it may not write are read-only. A returned input
/// array is that input.
std::vector<Tensor> run_on_arrays(py::handle function, const OpCall &call) {
  std::vector<bool> may_write = mutable_tensors(call);
  std::vector<PyObject *> arrays;
  std::vector<py::object> args = arguments(call, [&](const Tensor &t) -> py::object {
    bool writable = arrays.size() < may_write.size() && may_write[arrays.size()];
    PyObject *array = input_object(t, writable);
    if (!array) throw py::error_already_set();
    arrays.push_back(array);
    return py::reinterpret_steal<py::object>(array);
  });
  py::object result = call_with(function, args);
  std::vector<Tensor> out;
  auto take = [&](py::object o) {
    // a returned input is recognized by its object
    auto found = std::find(arrays.begin(), arrays.end(), o.ptr());
    if (found != arrays.end() && !o.is_none()) {
      auto at = static_cast<size_t>(found - arrays.begin());
      // a copy of an unwritten input, because the result must not share the caller's memory
      out.push_back(may_write[at] ? call.inputs[at] : ops::copied(call.inputs[at]));
      return;
    }
    std::string what = cat("a result of the kernel of ", call.op->def.name);
    out.push_back(tensor_from_python(tensor_of(o.ptr()) ? o : own_array(o), what, nullptr, Owner::tensor));
  };
  if (!py::isinstance<py::tuple>(result)) {
    take(std::move(result));
  } else {
    auto results = py::cast<std::vector<py::object>>(result);
    result = py::none();  // own_array counts references, so those of the tuple must be dropped first
    for (py::object &o : results) take(std::move(o));
  }
  return out;
}

/// Adds a note on how the registration of a kernel relates to its error, and rethrows.
[[noreturn]] void rethrow_noted(py::error_already_set &error, const OpCall &call) {
  const OpDef &def = call.op->def;
  std::vector<bool> may_write = mutable_tensors(call);
  py::list scalars, written;
  // without counts there is one tensor per declared input, so the indices agree
  for (size_t i = 0; call.counts.empty() && i < def.inputs.size(); ++i) {
    if (call.inputs[i] && call.inputs[i].shape().empty()) scalars.append(def.inputs[i].name);
    if (may_write[i]) written.append(def.inputs[i].name);
  }
  py::module_::import("kernelwright.errors")
      .attr("note_operator")(error.value(), def.name, std::move(scalars), std::move(written));
  throw error;
}

/// Returns the kind of devices with this name; nothing, for any, if it is None. Throws OpError.
std::optional<DeviceKind> device_from_python(const py::object &name) {
  if (name.is_none()) return {};
  auto text = py::cast<std::string>(name);
  for (DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda})
    if (text == device_name(kind)) return kind;
  throw_value_error(cat("'", text, "' is no device of kernels; it must be 'CPU', 'CUDA' or None for any"));
}

/// Builds the registry's row of a kernel from its description in Python. The condition `when` receives
/// tensors as objects of `type`.
KernelDef kernel_from_python(const std::string &op, const py::dict &spec, PyTypeObject *type,
                             bool is_registered) {
  KernelDef k;
  k.op = op;
  auto kind = py::cast<std::string>(spec["kind"]);
  for (BodyKind b : {BodyKind::cpp_kernel, BodyKind::aot_symbol, BodyKind::jit_loop, BodyKind::py_func})
    if (kind == body_name(b)) k.kind = b;
  k.source = py::cast<std::string>(spec["source"]);
  k.priority = py::cast<int>(spec["priority"]);
  k.device = device_from_python(spec["device"]);
  for (py::handle row : spec["rows"]) {
    // an empty name matches any dtype
    DTypeRow dtypes;
    for (py::handle name : row) {
      auto text = py::cast<std::string>(name);
      auto dtype = dtype_from_numpy(text);
      if (!dtype && !text.empty()) throw_type_error(cat("'", text, "' is no dtype of operators"));
      dtypes.push_back(dtype);
    }
    k.rows.push_back(std::move(dtypes));
  }
  if (py::object when = spec["when"]; !when.is_none()) {
    k.predicate.text = py::cast<std::string>(spec["when_text"]);
    k.predicate.holds = [held = shared(std::move(when)), type](const OpCall &call) {
      py::gil_scoped_acquire gil;
      std::vector<py::object> args =
          arguments(call, [&](const Tensor &t) { return tensor_to_python(t, type); });
      return py::cast<bool>(call_with(*held, args));
    };
  }
  // compiled kernels can take tensors directly, without arrays in between
  bool is_kernel = py::isinstance(spec["run"], py::module_::import("kernelwright._core").attr("Kernel"));
  k.makes_outputs = true;
  k.writes_mutable = k.kind == BodyKind::py_func;  // the dispatcher counts the writes of compiled kernels
  k.run = [held = shared(spec["run"]), is_kernel, is_registered](KernelContext &x) {
    // an operator call may come from a C++ thread
    GilHeld gil;
    try {
      std::optional<std::vector<Tensor>> results;
      if (is_kernel && x.call.attrs.empty()) results = fast_call(held->ptr(), x.call.inputs);
      if (results && results->empty()) throw py::error_already_set();
      x.outputs = results ? std::move(*results) : run_on_arrays(*held, x.call);
    } catch (py::error_already_set &error) {
      if (is_kernel && is_registered) rethrow_noted(error, x.call);
      throw;
    }
  };
  return k;
}

/// The last request to an inference and its answer, because calls repeat.
struct LastInference {
  std::vector<TensorType> inputs;
  std::vector<uint32_t> counts;
  Attrs attrs;
  TensorTypes outputs;

  bool was(const OpCall &call) const {
    auto same = [](const TensorType &type, const Tensor &t) {
      return t && type.dtype == t.dtype() && type.shape == t.shape();
    };
    return counts == call.counts && attrs == call.attrs &&
           std::equal(inputs.begin(), inputs.end(), call.inputs.begin(), call.inputs.end(), same);
  }
};

/// Returns the inference as a function of a call. If `repeats`, a call like the last one reuses the last
/// answer without calling Python.
auto infer_from_python(py::object function, bool repeats) {
  return [repeats, held = shared(std::move(function)),
          last = std::make_shared<std::optional<LastInference>>()](const OpCall &call) -> TensorTypes {
    GilHeld gil;
    if (repeats && *last && (*last)->was(call)) return (*last)->outputs;
    std::vector<TensorType> types;
    types.reserve(call.inputs.size());
    for (const Tensor &t : call.inputs) types.push_back(t ? TensorType{t.dtype(), t.shape()} : TensorType{});
    std::vector<py::object> args = arguments(call, [](const Tensor &t) -> py::object {
      if (!t) return py::none();
      return type_to_python({t.dtype(), t.shape()});
    });
    std::vector<TensorType> out;
    py::object inferred = call_with(*held, args);
    // covers only the conversion: an error of the function itself passes on as the user raised it
    try {
      for (auto type : py::cast<py::list>(inferred)) out.push_back(type_from_python(type));
    } catch (const py::cast_error &) {
      throw_type_error(cat("the inference of ", call.op->def.name,
                           " must return a list of (dtype, shape), but returned ",
                           py::cast<std::string>(py::repr(inferred))));
    }
    *last = LastInference{std::move(types), call.counts, call.attrs, std::move(out)};
    return (*last)->outputs;
  };
}

std::atomic<bool> gradients_are_checked{false};  ///< checkers get every result of a bprop

/// Returns a gradient that a bprop returned as a tensor that nobody else writes; empty for None. Copies what
/// other code holds and may write again, except for `args`, which the gradient pass keeps as they are. Arrays
/// of the host go to the device of the call. `what` is a function that names the gradient.
template <class What>
Tensor own_gradient(py::object o, const std::vector<py::object> &args, Device device, What &&what) {
  if (o.is_none()) return {};
  const Tensor *t = tensor_of(o.ptr());
  if (!t) {
    Tensor made = tensor_from_python(own_array(std::move(o)), what(), nullptr, Owner::tensor);
    return made.device() == device ? made : made.to(device);
  }
  bool is_argument = std::any_of(args.begin(), args.end(), [&](const auto &a) { return a.is(o); });
  // the tuple that the bprop returned and `o` hold one reference each
  bool is_shared = !is_argument && (Py_REFCNT(o.ptr()) > 2 || t->storage().is_viewed());
  if (!is_shared) return *t;
  return t->history() && is_recording() ? call_op("kw::identity", {*t})[0] : ops::copied(*t);
}

/// Returns a gradient by MindSpore's convention. Its arguments are inputs and attributes, outputs, and
/// gradients of the outputs; several outputs are tuples. `check(found, inputs)`, or None, receives results
/// that are not a tuple of one gradient per input and attribute. While gradients are checked, it receives all
/// results.
auto bprop_from_python(py::object function, py::object check, bool tuple, PyTypeObject *type) {
  auto checker = check.is_none() ? nullptr : shared(std::move(check));
  return [held = shared(std::move(function)), checker = std::move(checker), tuple, type](const GradCall &g) {
    py::gil_scoped_acquire gil;
    const OpDef &def = g.call.op->def;
    auto object = [&](Tensor t) { return tensor_to_python(std::move(t), type); };
    std::vector<py::object> args = arguments(g.call, object, 2);
    size_t expected = args.size();
    // one tensor is passed alone, unless the operator has tuples of outputs
    auto append = [&](const std::vector<Tensor> &several, auto &&convert) {
      if (several.size() == 1 && !tuple) return args.push_back(convert(several[0]));
      py::tuple all(several.size());
      for (size_t i = 0; i < several.size(); ++i) all[i] = convert(several[i]);
      args.push_back(std::move(all));
    };
    append(g.outputs, object);
    // other gradients may be sums in the same memory, so a bprop must not write its arguments
    append(g.grads, [&](const Tensor &t) { return object(t.read_only()); });
    py::object result = call_with(*held, args);
    bool plain = PyTuple_CheckExact(result.ptr()) && py::len(result) == expected;
    if (checker && (!plain || gradients_are_checked)) {
      py::tuple inputs(expected);
      for (size_t i = 0; i < expected; ++i) inputs[i] = args[i];
      result = (*checker)(result, inputs);
    }
    auto subject = [&] {
      return cat("the bprop of ", def.name, def.source.empty() ? "" : cat(" (", def.source, ")"));
    };
    if (!py::isinstance<py::tuple>(result) && !py::isinstance<py::list>(result))
      throw_type_error(cat(subject(), " must return a tuple of one gradient per input, but returned ",
                           with_article(Py_TYPE(result.ptr())->tp_name)));
    auto gradients = py::reinterpret_borrow<py::sequence>(result);
    size_t inputs = def.inputs.size();
    // gradients of attributes may be omitted; given ones are ignored
    if (gradients.size() != inputs && gradients.size() != expected)
      throw_type_error(cat(subject(), " returned ", counted(gradients.size(), "gradient"), ", but has ",
                           counted(inputs, "input"),
                           expected == inputs ? "" : cat(" and ", counted(expected - inputs, "attribute"))));
    std::vector<Tensor> out;
    out.reserve(g.call.inputs.size());
    for (size_t i = 0; i < inputs; ++i) {
      auto what = [&] {
        return cat("the gradient for input '", def.inputs[i].name, "' that ", subject(), " returned");
      };
      py::object one = gradients[i];
      size_t n = g.call.counts.empty() ? 1 : g.call.counts[i];
      // None for a dynamic input means all of its tensors
      if (one.is_none()) {
        out.resize(out.size() + n);
      } else if (!def.inputs[i].is_list()) {
        out.push_back(own_gradient(std::move(one), args, g.call.device, what));
      } else {
        auto several = py::reinterpret_borrow<py::sequence>(one);
        if (!PySequence_Check(one.ptr()) || several.size() != n)
          throw_type_error(cat(what(), " must be a tuple of ", n));
        for (py::handle o : several)
          out.push_back(own_gradient(py::reinterpret_borrow<py::object>(o), args, g.call.device, what));
      }
    }
    return out;
  };
}

/// Reads the declaration of an operator: inputs, outputs, attributes with their defaults, and the inference.
OpDef def_from_python(const py::dict &spec) {
  OpDef def;
  def.name = py::cast<std::string>(spec["name"]);
  def.source = py::cast<std::string>(spec["source"]);
  for (py::handle output : spec["outputs"]) {
    if (py::isinstance<py::str>(output)) {
      def.outputs.push_back({py::cast<std::string>(output)});
      continue;
    }
    auto [name, least, most] = py::cast<std::tuple<std::string, uint32_t, std::optional<uint32_t>>>(output);
    def.outputs.push_back({name, least, most.value_or(any_number)});
  }
  for (py::handle input : spec["inputs"]) {
    auto [name, arity, is_mutable] = py::cast<std::tuple<std::string, std::string, bool>>(input);
    uint32_t min = arity == "required", max = arity == "dynamic" ? any_number : 1;
    def.inputs.push_back({name, min, max, is_mutable});
  }
  for (py::handle attr : spec["attrs"]) {
    auto items = py::reinterpret_borrow<py::tuple>(attr);
    OpAttr a{py::cast<std::string>(items[0])};
    auto type = py::cast<std::string>(items[1]);
    bool known = false;
    // types are given by name
    for (int t = 0; t <= static_cast<int>(last_attr_type); ++t)
      if (attr_type_name(static_cast<AttrType>(t)) == type) a.type = static_cast<AttrType>(t), known = true;
    if (!known) throw_type_error(cat("'", type, "' is no type of attributes"));
    if (py::cast<bool>(items[2])) a.fallback = attr_from_python(items[3], a.name);
    def.attrs.push_back(std::move(a));
  }
  if (!spec["infer"].is_none())
    def.infer = infer_from_python(spec["infer"], py::cast<bool>(spec["infer_repeats"]));
  return def;
}

}  // namespace

void check_gradients(bool all) { gradients_are_checked = all; }

std::shared_ptr<const Operator> operator_from_python(const py::dict &spec, bool is_registered) {
  OpDef def = def_from_python(spec);
  std::string name = def.name;
  if (is_registered && name.starts_with("kw::"))
    throw_value_error(cat("operator '", name, "': the namespace kw is that of the built-in operators"));
  // the functions receive tensors of this class, which is kept forever
  auto *type = reinterpret_cast<PyTypeObject *>(spec["tensor_class"].ptr());
  std::vector<KernelDef> kernels;
  for (py::handle k : spec["kernels"])
    kernels.push_back(kernel_from_python(name, py::reinterpret_borrow<py::dict>(k), type, is_registered));
  std::optional<GradDef> grad;
  if (py::object bprop = spec["bprop"]; !bprop.is_none())
    grad = GradDef{name,
                   GradKind::py_bprop,
                   bprop_from_python(std::move(bprop), spec["check"], py::cast<bool>(spec["tuple"]), type),
                   true,
                   true,
                   {},
                   def.source};
  // an unregistered operator, which has no name in the registry
  if (!is_registered) return make_op(std::move(def), std::move(kernels), std::move(grad));
  Registration rows;
  rows.ops.push_back(std::move(def));
  rows.kernels = std::move(kernels);
  if (grad) rows.grads.push_back(std::move(*grad));
  registry().commit(std::move(rows));
  return registry().need(name);
}

}  // namespace kw
