// Functions with CPython's own calling convention, because each gradient makes some of these calls.
#include "bind/ops/gradients.h"

#include <optional>
#include <string_view>

#include "bind/dispatch/tensor.h"
#include "bind/ops/values.h"
#include "runtime/calls/tape.h"
#include "runtime/op_error.h"
#include "support/text.h"

namespace py = pybind11;

namespace kw {

std::vector<Tensor> tensors_from(py::handle list) {
  std::vector<Tensor> out;
  for (py::handle o : py::reinterpret_borrow<py::sequence>(list))
    out.push_back(tensor_or_none(o, [] { return "a value"; }));
  return out;
}

namespace {

/// Returns the class of results for calls with an object.
PyTypeObject *class_beside(py::handle o) {
  PyTypeObject *type = result_class(o.ptr());
  return type ? type : default_result_class();
}

/// Implements set_recording(True, False or None). Returns the previous setting; None if there was none.
PyObject *set_recording_to(PyObject *, PyObject *on) {
  std::optional<bool> before = set_recording(on == Py_None ? std::nullopt : std::optional(on == Py_True));
  return before ? PyBool_FromLong(*before) : Py_NewRef(Py_None);
}

/// Returns (the variable, the handle for gradients) of a tensor.
PyObject *variable_of(PyObject *, PyObject *o) {
  return calling([&]() -> PyObject * {
    Tensor variable = make_variable(tensor_from_python(o, "a value"));
    PyTypeObject *type = class_beside(o);
    py::object first = tensor_to_python(variable, type);
    py::object second = tensor_to_python(with_same_history(variable), type);
    return PyTuple_Pack(2, first.ptr(), second.ptr());
  });
}

/// Implements gradients(outputs, seeds, wrt) on lists of tensors.
PyObject *gradients_of(PyObject *, PyObject *const *args, Py_ssize_t count) {
  return calling([&]() -> PyObject * {
    if (count != 3) throw_type_error("gradients takes three lists");
    std::vector<Tensor> found =
        gradients(tensors_from(args[0]), tensors_from(args[1]), tensors_from(args[2]));
    py::list out(found.size());
    auto objects = py::reinterpret_borrow<py::sequence>(args[2]);
    for (size_t i = 0; i < found.size(); ++i) {
      py::object by = objects[i];
      out[i] = tensor_to_python(std::move(found[i]), class_beside(by));
    }
    return out.release().ptr();
  });
}

/// Returns the name of an object's class without its module.
std::string class_name(py::handle o) {
  std::string_view name = Py_TYPE(o.ptr())->tp_name;
  return std::string(name.substr(name.rfind('.') + 1));
}

/// Appends the tensors of a value and of its nested tuples and lists.
///    (a, [b, 1]) → a, b; other objects are skipped
void flatten(py::handle o, std::vector<Tensor> &out) {
  if (const Tensor *t = tensor_of(o.ptr())) return out.push_back(*t);
  if (PyTuple_Check(o.ptr()) || PyList_Check(o.ptr()))
    for (py::handle item : py::reinterpret_borrow<py::sequence>(o)) flatten(item, out);
}

/// Implements call_number().
PyObject *call_number(PyObject *, PyObject *) { return PyLong_FromUnsignedLongLong(next_call_number()); }

/// Drops the histories that are over since a number, of the tensors of a value and of its nested tuples and
/// lists, and so the memory that they keep and pin.
void forget_histories(py::handle o, uint64_t since) {
  if (const Tensor *t = tensor_of(o.ptr())) {
    if (is_history_over(*t, since)) forget_history(o.ptr());
  } else if (PyTuple_Check(o.ptr()) || PyList_Check(o.ptr())) {
    for (py::handle item : py::reinterpret_borrow<py::sequence>(o)) forget_histories(item, since);
  }
}

/// Implements forget_history(value, since).
PyObject *forget_history_of(PyObject *, PyObject *const *args, Py_ssize_t count) {
  return calling([&] {
    if (count != 2) throw_type_error("forget_history takes two arguments");
    forget_histories(args[0], py::cast<uint64_t>(py::handle(args[1])));
    return Py_NewRef(Py_None);
  });
}

/// Records the calls of this thread during its lifetime.
class RecordingHere {
 public:
  RecordingHere() : before_(set_recording(true)) {}
  ~RecordingHere() { set_recording(before_); }
  RecordingHere(const RecordingHere &) = delete;

 private:
  std::optional<bool> before_;
};

/// Implements differentiate(function, arguments, positions, more, seeds). Returns the function's result, and
/// its gradients by the arguments at `positions` and by the tensors that `more` returns. `more` may be None;
/// it is called after recording has begun. A gradient is zeros if the result does not depend on the tensor.
/// The results forget their histories unless an outer setting records.
PyObject *differentiate(PyObject *, PyObject *const *args, Py_ssize_t count) {
  return calling([&]() -> PyObject * {
    if (count != 5) throw_type_error("differentiate takes five arguments");
    auto given = py::reinterpret_borrow<py::sequence>(args[1]);
    std::vector<py::object> held(given.begin(), given.end());
    std::vector<Tensor> asked, outputs;
    std::vector<PyTypeObject *> types;
    py::object out, more = py::tuple();
    asked.reserve(held.size()), types.reserve(held.size());
    uint64_t since = next_call_number();
    {
      // the gradients themselves are computed outside this scope, so they are recorded only if an outer
      // setting says so
      RecordingHere recording;
      if (args[3] != Py_None) more = py::reinterpret_borrow<py::object>(args[3])();
      for (py::handle item : py::reinterpret_borrow<py::sequence>(args[2])) {
        size_t at = py::cast<size_t>(item);
        const Tensor *t = at < held.size() ? tensor_of(held[at].ptr()) : nullptr;
        if (!t)
          throw_type_error(cat("a gradient by argument ", at, " was asked for, which is ",
                               at < held.size() ? class_name(held[at]) : "missing",
                               ", but must be a Tensor"));
        types.push_back(class_beside(held[at]));
        // the function may change the variable in place, so the gradient is requested by a handle with its
        // present history
        Tensor variable = make_variable(*t);
        asked.push_back(with_same_history(variable));
        held[at] = tensor_to_python(std::move(variable), types.back());
      }
      out = call_with(args[0], held);
    }
    flatten(out, outputs);
    if (outputs.empty())
      throw_type_error(cat("the function returned ", class_name(out), ", but must return tensors"));
    for (py::handle o : py::reinterpret_borrow<py::sequence>(more)) {
      asked.push_back(tensor_from_python(o, "a value"));
      types.push_back(class_beside(o));
    }
    std::vector<Tensor> found = gradients(outputs, tensors_from(args[4]), asked);
    outputs.clear();
    forget_histories(out, since);
    py::list by(found.size());
    for (size_t i = 0; i < found.size(); ++i) {
      // no gradient: the outputs do not depend on this tensor
      if (!found[i]) found[i] = Tensor::zeros(asked[i].dtype(), asked[i].shape(), asked[i].device());
      by[i] = tensor_to_python(std::move(found[i]), types[i]);
    }
    return PyTuple_Pack(2, out.ptr(), by.ptr());
  });
}

PyMethodDef gradient_functions[] = {
    {"set_recording", set_recording_to, METH_O,
     "Whether calls of this thread are recorded from now on; what it was, None if not said."},
    {"make_variable", variable_of, METH_O, "A variable, and what gradients are asked by."},
    {"gradients", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(gradients_of)), METH_FASTCALL,
     "Gradients of outputs, weighed by seeds, by variables."},
    {"call_number", call_number, METH_NOARGS, "The number of the next recorded call."},
    {"forget_history", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(forget_history_of)),
     METH_FASTCALL,
     "Forgets how results were computed by calls since that number, unless calls are recorded."},
    {"differentiate", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(differentiate)), METH_FASTCALL,
     "What a function returns, and its gradients by some of its arguments."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void bind_gradients(py::module_ &m) {
  if (PyModule_AddFunctions(m.ptr(), gradient_functions) < 0) throw py::error_already_set();
}

}  // namespace kw
