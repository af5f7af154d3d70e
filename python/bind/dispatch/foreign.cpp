// Tries the two protocols.
#include "bind/dispatch/foreign.h"

#include <array>

#include "support/stack.h"

namespace kw {

namespace {

/// A protocol to export memory: the attribute of the objects, and its reader. Protocols are tried in this
/// order.
struct Protocol {
  const char *attribute, *reader;  ///< reader: name of a NumPy function
};
constexpr std::array<Protocol, 2> protocols = {
    {{"__dlpack__", "from_dlpack"}, {"__array_interface__", "asarray"}}};

/// Returns the text of the pending exception and clears it.
std::string take_error_text() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyRef owned_type(type), owned_value(value), owned_trace(trace);
  PyRef text(value ? PyObject_Str(value) : nullptr);
  const char *s = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  return s && *s ? s : "no reason given";
}

/// Counts nested protocol calls. Protocols are Python code, which may call kernels whose arguments have
/// protocols. Python limits the depth to a thousand calls by default, but each of ours takes 20 KB of the
/// stack.
class Nesting {
 public:
  Nesting() { ++depth; }
  Nesting(const Nesting &) = delete;
  ~Nesting() { --depth; }
  /// Returns whether the stack has room for one more call. The outermost call always fits.
  bool fits() const { return depth == 1 || stack_left() > size_t{96} << 10; }

 private:
  static thread_local int depth;
};
constinit thread_local int Nesting::depth = 0;

}  // namespace

PyRef view_of_foreign(PyObject *o, std::string &why) {
  Nesting nesting;
  if (!nesting.fits()) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded while an argument was read");
    return {};
  }
  for (const Protocol &p : protocols) {
    // looks in the class, as Python does for special methods
    if (!PyObject_HasAttrString(reinterpret_cast<PyObject *>(Py_TYPE(o)), p.attribute)) continue;
    PyRef numpy(PyImport_ImportModule("numpy"));
    PyRef view(numpy ? PyObject_CallMethod(numpy.get(), p.reader, "O", o) : nullptr);
    // NumPy retries after a TypeError, which would double the calls at each level of a recursion
    bool is_fault_of_reader = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception) &&
                              !PyErr_ExceptionMatches(PyExc_RecursionError) &&
                              !PyErr_ExceptionMatches(PyExc_MemoryError);
    if (is_fault_of_reader) why = take_error_text();
    return view;
  }
  return {};
}

}  // namespace kw
