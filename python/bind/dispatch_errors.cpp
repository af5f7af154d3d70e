// Exceptions of entry programs and runs.
#include "bind/dispatch_errors.h"

#include "runtime/versions/faults.h"

namespace kw {

bool raise_in_call(const KernelState &k, const Resolved &error) {
  raise_errors({error}, error.line < 0 ? KernelPlace{} : k.place);
  return false;
}

bool end_run(const KernelState &k, const LoadedKernel &kernel, std::span<const int64_t> extents,
             const RunResult &r) {
  if (r.status == 1) return raise_in_call(k, fault_error(kernel, extents, r.fault));
  if (r.status == 3) {
    PyErr_Format(PyExc_MemoryError, "no memory for the temporaries of kernel '%s'", k.name.c_str());
    return false;
  }
  if (r.status == 2 && !PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  return !PyErr_Occurred();  // also a signal handler may have raised as the run ended
}

}  // namespace kw
