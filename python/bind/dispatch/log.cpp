// Calls Python's logging. Cheap if there is nothing to tell.
#include "bind/dispatch/log.h"

#include <algorithm>

#include "bind/dispatch/raise.h"
#include "bind/dispatch/state.h"

namespace kw {

namespace {

bool has_imported_logging() {
  PyObject *modules = PyImport_GetModuleDict();
  return modules && PyDict_GetItemString(modules, "logging");
}

/// Gives a record to Python's logging, or a warning with a code to its warnings. Returns false with an
/// exception.
bool emit(PyObject *logging, const LogRecord &r) {
  if (r.warning) return issue_warning(*r.warning, {});
  const char *logger_name = r.area == LogArea::cache ? "kernelwright.cache" : "kernelwright.compile";
  PyRef logger(PyObject_CallMethod(logging, "getLogger", "s", logger_name));
  // a path may hold bytes that are no UTF-8
  PyRef text(PyUnicode_DecodeUTF8(r.text.data(), static_cast<Py_ssize_t>(r.text.size()), "replace"));
  if (!logger || !text) return false;
  return bool(
      PyRef(PyObject_CallMethod(logger.get(), "log", "isO", static_cast<int>(r.level), "%s", text.get())));
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
  PyRef logging(PyImport_ImportModule("logging"));
  bool done = bool(logging);
  for (size_t i = 0; done && i < records.size(); ++i) done = emit(logging.get(), records[i]);
  if (!done) PyErr_WriteUnraisable(logging.get());
  PyErr_Restore(type, value, trace);
}

}  // namespace kw
