// Parameters and arguments in words.
#include "bind/dispatch_notes.h"

#include "bind/dispatch_numpy.h"

#include "bind/raise.h"
#include "support/text.h"

namespace kw {

namespace {

/// str() or repr() of an object; "?" when it raises.
std::string words_of(PyObject *text) {
  PyRef owned(text);
  if (owned && PyUnicode_Check(owned.get())) return utf8(owned.get());
  PyErr_Clear();
  return "?";
}

/// "float32[:, :]" for arrays, else the name of the type.
std::string type_of(PyObject *o) {
  if (!PyArray_Check(o)) return Py_TYPE(o)->tp_name;
  auto *a = reinterpret_cast<PyArrayObject *>(o);
  std::string out = words_of(PyObject_Str(reinterpret_cast<PyObject *>(PyArray_DESCR(a)))) + "[";
  for (int d = 0; d < PyArray_NDIM(a); ++d) out += d ? ", :" : ":";
  return out + "]";
}

std::string call_types(const KernelState &k, const CallFrame &f) {
  std::string out = k.name + "(";
  for (size_t i = 0; i < f.arg_count; ++i)
    out += cat(i ? ", " : "", utf8(k.parameters[i].get()), ": ", type_of(f.passed(i)));
  return out + ")";
}

}  // namespace

std::string call_form(const KernelState &k) {
  std::string out = k.name + "(";
  for (size_t i = 0; i < k.parameters.size(); ++i) {
    out += cat(i ? ", " : "", utf8(k.parameters[i].get()));
    if (k.defaults[i]) {
      std::string value = words_of(PyObject_Repr(k.defaults[i].get()));
      out += "=" + (value.size() > 20 ? "..." : value);
    }
    if (i + 1 == k.positional_only) out += ", /";
  }
  return out + ")";
}

PyObject *note_call(const KernelState &k, const CallFrame &f) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyRef module(value ? PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(value)), "__module__")
                     : nullptr);
  bool ours = module && PyUnicode_Check(module.get()) && utf8(module.get()) == "kernelwright.errors";
  if (ours && !PyErr_GivenExceptionMatches(value, PyExc_SyntaxError)) {  // syntax is the same for all types
    PyRef notes(Py_BuildValue("[N]", PyUnicode_FromString(("in the call " + call_types(k, f)).c_str())));
    // what Python 3.11 prints below the message; older ones keep it as an attribute
    if (!notes || PyObject_SetAttrString(value, "__notes__", notes.get()) != 0) PyErr_Clear();
  }
  PyErr_Restore(type, value, trace);
  return nullptr;
}

}  // namespace kw
