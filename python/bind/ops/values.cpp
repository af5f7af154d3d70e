// Conversions of values, and the mapping of exceptions.
#include "bind/ops/values.h"

#include <pybind11/stl.h>

#include "bind/dispatch/device_array.h"
#include "bind/dispatch/tensor.h"
#include "support/text.h"

namespace py = pybind11;

namespace kw {

Attr attr_from_python(py::handle o, std::string_view name, int depth) {
  constexpr int most_nested = 16;
  // the limit also ends a list that contains itself
  if (depth > most_nested) throw_value_error(cat("attribute '", name, "' is nested too deeply"));
  PyObject *p = o.ptr();
  if (o.is_none()) return {};
  // bool comes before int, from which it derives
  if (PyBool_Check(p)) return Attr(p == Py_True);
  if (PyUnicode_Check(p)) return Attr(utf8(p));
  if (PyFloat_Check(p)) return Attr(PyFloat_AsDouble(p));
  // PyIndex_Check also accepts NumPy's integers
  if (PyLong_Check(p) || PyIndex_Check(p)) {
    py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(p));
    int overflow = 0;
    int64_t v = number ? PyLong_AsLongLongAndOverflow(number.ptr(), &overflow) : 0;
    if (overflow) throw_value_error(cat("attribute '", name, "' does not fit into 64 bits"));
    if (number) return Attr(v);
    PyErr_Clear();  // an array: the message below names the attribute
  }
  if (PyList_Check(p) || PyTuple_Check(p)) {
    std::vector<Attr> items;
    for (py::handle item : py::reinterpret_borrow<py::sequence>(o))
      items.push_back(attr_from_python(item, name, depth + 1));
    return Attr(std::move(items));
  }
  if (PyType_Check(p)) {  // np.float32, float
    py::object dtype = py::module_::import("numpy").attr("dtype")(o);
    return attr_from_python(dtype, name, depth + 1);
  }
  // dtype objects of another front end name their NumPy dtype
  if (py::hasattr(o, "kw_dtype")) return attr_from_python(o.attr("kw_dtype"), name, depth + 1);
  // np.dtype and all objects whose `name` is the name of a dtype
  if (py::hasattr(o, "name") && py::isinstance<py::str>(o.attr("name")))
    if (auto dtype = dtype_from_numpy(py::cast<std::string>(o.attr("name")))) return Attr(*dtype);
  // np.float32(2) has the shape (); arrays with dimensions are refused, even those with one element
  bool is_number = !py::hasattr(o, "shape") || py::len(o.attr("shape")) == 0;
  if (PyNumber_Check(p) && is_number) {
    py::object number = py::reinterpret_steal<py::object>(PyNumber_Float(p));
    if (number) return Attr(PyFloat_AsDouble(number.ptr()));
    PyErr_Clear();
  }
  throw_type_error(cat("attribute '", name, "' is ", with_article(Py_TYPE(p)->tp_name),
                       ", but must be None, a number, text, a dtype or a list of them"));
}

py::object attr_to_python(const Attr &a) {
  if (const auto *b = a.as<bool>()) return py::bool_(*b);
  if (const auto *i = a.as<int64_t>()) return py::int_(*i);
  if (const auto *d = a.as<double>()) return py::float_(*d);
  if (const auto *s = a.as<std::string>()) return py::str(*s);
  if (const auto *t = a.as<DType>())
    return py::module_::import("numpy").attr("dtype")(std::string(numpy_name(*t)));
  const auto *items = a.as<std::vector<Attr>>();
  if (!items) return py::none();
  py::list out;
  for (const Attr &item : *items) out.append(attr_to_python(item));
  return out;
}

py::tuple type_to_python(const TensorType &t) {
  py::tuple shape(t.shape.size());
  for (size_t d = 0; d < t.shape.size(); ++d) shape[d] = py::int_(t.shape[d]);
  return py::make_tuple(std::string(numpy_name(t.dtype)), shape);
}

TensorType type_from_python(py::handle o) {
  // throws py::cast_error for other objects; the caller knows which function returned the value
  auto [name, shape] = py::cast<std::pair<std::string, std::vector<int64_t>>>(o);
  auto dtype = dtype_from_numpy(name);
  if (!dtype) throw_type_error(cat("'", name, "' is no dtype of operators"));
  return {*dtype, shape};
}

py::object tensor_to_python(Tensor t, PyTypeObject *type) {
  if (!t) return py::none();
  PyObject *o = wrap_tensor(type, std::move(t));
  if (!o) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(o);
}

/// Returns "float", "torch.Tensor": without its module a foreign type may have the name of one of ours.
static std::string full_type_name(py::handle o) {
  std::string name = Py_TYPE(o.ptr())->tp_name;
  PyTypeObject *type = Py_TYPE(o.ptr());
  // a class statement omits the module in tp_name, so only such types need __module__
  if (name.find('.') != std::string::npos || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return name;
  py::object module = py::getattr(py::type::of(o), "__module__", py::str(""));
  std::string text = py::isinstance<py::str>(module) ? py::cast<std::string>(module) : "";
  return text.empty() || text == "builtins" || text == "__main__" ? name : cat(text, ".", name);
}

Tensor tensor_from_python(py::handle o, const std::string &what, bool *copied, Owner owner) {
  if (const Tensor *t = tensor_of(o.ptr())) return *t;
  if (!is_array_like(o.ptr())) {
    PyRef on_gpu = adopted(o.ptr());
    if (PyErr_Occurred()) throw py::error_already_set();
    if (on_gpu) {
      Tensor t = *tensor_of(on_gpu.get());
      if (owner == Owner::other_code) t.storage().add_view();
      return t;
    }
    throw_type_error(cat(what, " is ", with_article(full_type_name(o)), ", but must be a tensor"));
  }
  bool is_copy = false;
  Tensor t = tensor_over(o.ptr(), what.c_str(), &is_copy);
  if (!t) throw py::error_already_set();
  if (copied) *copied = is_copy;
  if (!is_copy && owner == Owner::other_code) t.storage().add_view();
  return t;
}

py::object call_with(py::handle function, const std::vector<py::object> &args) {
  // a py::object has the layout of one pointer, so the vector serves as the array for vectorcall
  static_assert(sizeof(py::object) == sizeof(PyObject *));
  auto *raw = reinterpret_cast<PyObject *const *>(args.data());
  PyObject *result = PyObject_Vectorcall(function.ptr(), raw, args.size(), nullptr);
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

void raise_current() noexcept {
  // rethrows the exception to find its type; std::exception, the base of the types above it, comes late
  try {
    throw;
  } catch (py::error_already_set &e) {
    e.restore();
  } catch (const py::cast_error &e) {
    PyErr_SetString(PyExc_TypeError, e.what());
  } catch (const OpError &e) {
    raise_op_error(e);
  } catch (const ResolvedError &e) {
    // the text was given in C++, so its lines count from 1
    raise_resolved(e, {e.path, 1, {}});
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const WaitInterrupted &) {
    raise_interrupt();
  } catch (const std::exception &e) {
    raise_error(Code::E503, e.what());
  } catch (...) {
    raise_error(Code::E503, "an unknown C++ exception");
  }
}

}  // namespace kw
