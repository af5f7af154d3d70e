// Calls kernelwright._log. Cheap if there is nothing to tell.
#include "bind/dispatch/log.h"

#include <algorithm>

#include "bind/dispatch/state.h"
#include "support/log.h"

namespace kw {

namespace {

bool has_imported_logging() {
  PyObject *modules = PyImport_GetModuleDict();
  return modules && PyDict_GetItemString(modules, "logging");
}

/// Returns the records as a list of tuples; null with an exception.
PyRef to_python(const std::vector<LogRecord> &records) {
  PyRef out(PyList_New(0));
  for (const LogRecord &r : records) {
    const char *area = r.area == LogArea::cache ? "cache" : "compile";
    // a path may hold bytes that are no UTF-8
    PyRef text(PyUnicode_DecodeUTF8(r.text.data(), static_cast<Py_ssize_t>(r.text.size()), "replace"));
    PyRef row(text ? Py_BuildValue("(siO)", area, static_cast<int>(r.level), text.get()) : nullptr);
    if (!out || !row || PyList_Append(out.get(), row.get()) < 0) return PyRef();
  }
  return out;
}

}  // namespace

void pass_on_log() {
  if (!has_log_records()) return;
  std::vector<LogRecord> records = take_log_records();
  if (!has_imported_logging())
    std::erase_if(records, [](const LogRecord &r) { return r.level < LogLevel::warning; });
  if (records.empty()) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyRef list = to_python(records);
  PyRef module(list ? PyImport_ImportModule("kernelwright._log") : nullptr);
  PyRef done(module ? PyObject_CallMethod(module.get(), "emit", "O", list.get()) : nullptr);
  if (!done) PyErr_WriteUnraisable(module.get());
  PyErr_Restore(type, value, trace);
}

}  // namespace kw
