// The two protocols.
#include "bind/dispatch_foreign.h"

#include <array>

namespace kw {

namespace {

struct Protocol {
  const char *attribute, *reader;  ///< reader: a function of NumPy
};
constexpr std::array<Protocol, 2> protocols = {
    {{"__dlpack__", "from_dlpack"}, {"__array_interface__", "asarray"}}};

/// The text of the pending exception, which is cleared.
std::string take_error_text() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyRef owned_type(type), owned_value(value), owned_trace(trace);
  PyRef text(value ? PyObject_Str(value) : nullptr);
  const char *s = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  return s && *s ? s : "no reason given";
}

}  // namespace

PyRef view_of_foreign(PyObject *o, std::string &why) {
  for (const Protocol &p : protocols) {
    if (!PyObject_HasAttrString(reinterpret_cast<PyObject *>(Py_TYPE(o)), p.attribute)) continue;
    PyRef numpy(PyImport_ImportModule("numpy"));
    PyRef view(numpy ? PyObject_CallMethod(numpy.get(), p.reader, "O", o) : nullptr);
    if (!view) why = take_error_text();
    return view;
  }
  return {};
}

}  // namespace kw
