// Creates exceptions and warnings.
#include "bind/dispatch/raise.h"

namespace kw {

namespace {

/// Calls kernelwright.errors.<function>(args…); steals args. Returns null if Python raised.
PyObject *call_errors(const char *function, PyObject *args) {
  if (!args) return nullptr;
  PyObject *module = PyImport_ImportModule("kernelwright.errors");
  PyObject *callable = module ? PyObject_GetAttrString(module, function) : nullptr;
  PyObject *result = callable ? PyObject_CallObject(callable, args) : nullptr;
  Py_XDECREF(callable);
  Py_XDECREF(module);
  Py_DECREF(args);
  return result;
}

/// Returns a new str. Lone surrogates are decoded as utf8() encoded them; other bytes that are not UTF-8
/// become replacement characters. So a wrongly encoded name never hides the error that mentions it.
PyObject *text(const std::string &s) {
  PyObject *o = PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "surrogatepass");
  if (o) return o;
  PyErr_Clear();
  return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
}

}  // namespace

std::string utf8(PyObject *o) {
  Py_ssize_t n = 0;
  if (!o || !PyUnicode_Check(o)) return {};
  // the str caches this encoding, so later calls cost nothing; it raises for lone surrogates
  if (const char *s = PyUnicode_AsUTF8AndSize(o, &n)) return {s, static_cast<size_t>(n)};
  PyErr_Clear();
  PyObject *bytes = PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass");
  std::string out;
  if (bytes) out.assign(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
  Py_XDECREF(bytes);
  PyErr_Clear();
  return out;
}

PyObject *raise_errors(const std::vector<Resolved> &errors, const KernelPlace &place) {
  if (errors.empty()) return raise_error(Code::E503, "an error without a message");
  std::vector<TextPlace> texts = place.texts();
  const Resolved &first = errors[0];
  // `rendered` is the whole text of all errors. `below` omits the first error down to its source line, for
  // exceptions whose location Python prints itself.
  std::string rendered = render(first, texts), below = render_advice(first, texts);
  for (const Resolved &e : std::span(errors).subspan(1)) {
    std::string other = "\n" + render(e, texts);
    rendered += other, below += other;
  }
  const CodeRow &row = row_of(first.code);
  const TextPlace &at = place_of(first.text, texts);
  // line 0 means to make_error that the error has no location
  int64_t line = first.line < 0 ? 0 : int64_t{at.first_line} + first.line;
  // "N" passes the new references of text() on; call_errors accepts the null of a failed one
  PyObject *args = Py_BuildValue("(s#s#NNNnIINN)", class_name(row.error_class).data(),
                                 static_cast<Py_ssize_t>(class_name(row.error_class).size()), row.name.data(),
                                 static_cast<Py_ssize_t>(row.name.size()), text(rendered),
                                 text(expand_marks(first.message, texts, first.text)), text(at.path),
                                 static_cast<Py_ssize_t>(line), first.column, first.end_column,
                                 text(first.line_text), text(below));
  PyObject *exception = call_errors("make_error", args);
  if (exception) PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception)), exception);
  Py_XDECREF(exception);
  return nullptr;
}

PyObject *raise_resolved(const ResolvedError &e, const KernelPlace &place) {
  if (e.places.empty()) return raise_errors(e.errors, place);
  const TextPlace &own = e.places[0];
  return raise_errors(e.errors, {own.path, own.first_line, {e.places.begin() + 1, e.places.end()}});
}

PyObject *raise_error(Code code, std::string message, std::string help) {
  Resolved r;
  r.code = code;
  r.message = std::move(message);
  if (!help.empty()) r.help.push_back(std::move(help));
  return raise_errors({r}, {});
}

void raise_op_error(const OpError &e) {
  // kinds with a diagnostic code come first; the others become plain Python exceptions
  using Kind = OpError::Kind;
  if (e.kind == Kind::unsupported) return static_cast<void>(raise_error(Code::E102, e.what()));
  if (e.kind == Kind::device) {
    raise_error(Code::E501, e.what(), "compile it for the CPU, or use a version of it for the CPU");
    return;
  }
  PyObject *kind = e.kind == Kind::value     ? PyExc_ValueError
                   : e.kind == Kind::runtime ? PyExc_RuntimeError
                   : e.kind == Kind::memory  ? PyExc_MemoryError
                                             : PyExc_TypeError;
  PyObject *message = text(e.what());
  PyObject *error = message ? PyObject_CallOneArg(kind, message) : nullptr;
  Py_XDECREF(message);
  if (!error) return;
  PyObject *name = e.kind == Kind::no_kernel ? text(e.op) : nullptr;
  // without the attribute the error is still right, but its operator is unknown
  if (name && PyObject_SetAttrString(error, "operator", name) < 0) PyErr_Clear();
  Py_XDECREF(name);
  PyErr_SetObject(kind, error);
  Py_DECREF(error);
}

bool issue_warning(const Resolved &warning, const KernelPlace &place) {
  const CodeRow &row = row_of(warning.code);
  std::vector<TextPlace> texts = place.texts();
  const TextPlace &at = place_of(warning.text, texts);
  // a warning without a location points at the first line of its text
  int64_t line = int64_t{at.first_line} + (warning.line < 0 ? 0 : warning.line);
  PyObject *args = Py_BuildValue("(NNNNnI)", text(std::string(class_name(row.error_class))),
                                 text(std::string(row.name)), text(render(warning, texts)), text(at.path),
                                 static_cast<Py_ssize_t>(line), warning.column);
  PyObject *done = call_errors("issue_warning", args);
  Py_XDECREF(done);
  return done != nullptr;
}

}  // namespace kw
