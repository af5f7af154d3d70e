// Texts for parameters and arguments.
#include "bind/dispatch/notes.h"

#include "bind/dispatch/numpy.h"

#include "bind/dispatch/raise.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the text from str() or repr() of an object; "?" if that raised.
std::string words_of(PyObject *text) {
  PyRef owned(text);
  if (owned && PyUnicode_Check(owned.get())) return utf8(owned.get());
  PyErr_Clear();
  return "?";
}

/// Returns "float32[2, 3]" for arrays, else the name of the type.
std::string type_of(PyObject *o) {
  if (!PyArray_Check(o)) return Py_TYPE(o)->tp_name;
  auto *a = reinterpret_cast<PyArrayObject *>(o);
  std::string out = words_of(PyObject_Str(reinterpret_cast<PyObject *>(PyArray_DESCR(a)))) + "[";
  for (int d = 0; d < PyArray_NDIM(a); ++d) out += cat(d ? ", " : "", PyArray_DIM(a, d));
  return out + "]";
}

/// Returns the call with the types of its `count` bound arguments; `passed(i)` returns argument i. The count
/// is needed because the function may have other parameters by now.
template <class Passed>
std::string call_types(const KernelState &k, size_t count, const Passed &passed) {
  std::string out = k.name + "(";
  for (size_t i = 0; i < count; ++i)
    out += cat(i ? ", " : "", parameter_name(k, i), ": ", type_of(passed(i)));
  return out + ")";
}

/// Adds the types of the call to the pending exception, which stays pending. Returns null. The function
/// note_call of kernelwright.errors decides which exceptions get the note.
template <class Passed>
PyObject *add_note(const KernelState &k, size_t count, const Passed &passed) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyRef errors(PyImport_ImportModule("kernelwright.errors"));
  PyRef text(PyUnicode_FromString(("in the call " + call_types(k, count, passed)).c_str()));
  PyRef done(errors && text && value ? PyObject_CallMethod(errors.get(), "note_call", "OO", value, text.get())
                                     : nullptr);
  PyErr_Restore(type, value, trace);  // also clears an exception raised by the note itself
  return nullptr;
}

}  // namespace

std::string call_form(const KernelState &k) {
  std::string out = k.name + "(";
  for (size_t i = 0; i < k.parameters.names.size(); ++i) {
    out += cat(i ? ", " : "", utf8(k.parameters.names[i].get()));
    if (k.parameters.defaults[i]) {
      // a long default value is shortened to "..."
      std::string value = words_of(PyObject_Repr(k.parameters.defaults[i].get()));
      out += "=" + (value.size() > 20 ? "..." : value);
    }
    if (i + 1 == k.parameters.positional_only) out += ", /";
  }
  return out + ")";
}

PyObject *note_call(const KernelState &k, const CallFrame &f) {
  return add_note(k, f.arg_count, [&](size_t i) { return passed(f, i); });
}

PyObject *note_call(const KernelState &k, PyObject *const *args, size_t nargs) {
  return add_note(k, nargs, [&](size_t i) { return args[i]; });
}

}  // namespace kw
