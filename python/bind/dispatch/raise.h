// Diagnostics → Python exceptions and warnings of kernelwright.errors. The only file that creates them. It
// renders nothing itself; support/diagnostic does.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "runtime/op_error.h"
#include "runtime/resolved_error.h"
#include "support/diagnostic.h"

namespace kw {

/// Returns the text of a str, lone surrogates included; "" without an exception for any other object.
std::string utf8(PyObject *o);

/// The location of a kernel's source, for rendering.
struct KernelPlace {
  std::string path;
  uint32_t first_line = 1;
  std::vector<TextPlace> callees;  ///< texts of the functions that the kernel calls, by their numbers

  std::vector<TextPlace> texts() const {
    std::vector<TextPlace> all{{path, first_line}};
    all.insert(all.end(), callees.begin(), callees.end());
    return all;
  }
};

/// Sets the exception of the first error; its text contains all errors. Returns null for `return
/// raise_errors(…)`.
PyObject *raise_errors(const std::vector<Resolved> &errors, const KernelPlace &place);
/// Sets the exception of one error without a source location. Returns null.
PyObject *raise_error(Code code, std::string message, std::string help = {});
/// Sets the exception of errors that the runtime threw. `place`: of the kernel that was called, if one was.
PyObject *raise_resolved(const ResolvedError &e, const KernelPlace &place = {});
/// Raises TypeError, ValueError, RuntimeError or UnsupportedError, by the error's kind. If no kernel runs the
/// call, raises a TypeError whose attribute `operator` is the operator's name.
void raise_op_error(const OpError &e);
/// Raises KeyboardInterrupt, unless the handler of the signal has raised something.
inline void raise_interrupt() {
  if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
}
/// Issues a warning through the warnings module. Returns false if that raised.
bool issue_warning(const Resolved &warning, const KernelPlace &place);

/// Runs f() and converts every C++ exception to a Python one; then returns `failed` (null or -1).
template <class F>
auto guarded(F &&f, decltype(f()) failed = {}) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (const OpError &e) {
    raise_op_error(e);
  } catch (const ResolvedError &e) {
    raise_resolved(e);
  } catch (const CompileError &e) {
    raise_error(e.found().empty() ? Code::E503 : e.found()[0].code, e.what());
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const WaitInterrupted &) {
    raise_interrupt();
  } catch (const std::exception &e) {
    if (!PyErr_Occurred()) raise_error(Code::E503, e.what());
  } catch (...) {
    if (!PyErr_Occurred()) raise_error(Code::E503, "an unknown C++ exception");
  }
  return failed;
}

}  // namespace kw
