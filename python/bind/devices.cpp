// Binds runtime/cuda.
#include "bind/devices.h"

#include <pybind11/stl.h>

#include "bind/dispatch/state.h"
#include "codegen/cuda/nvrtc.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/faults.h"

namespace py = pybind11;

namespace kw {

namespace {

/// Converts what a function throws, with errors of devices as kernelwright.errors knows them.
template <class F>
auto raising(F &&f) {
  try {
    return f();
  } catch (const ResolvedError &e) {
    raise_resolved(e);
  } catch (const OpError &e) {
    raise_op_error(e);
  } catch (const WaitInterrupted &) {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
  throw py::error_already_set();
}

CudaDevice &entered(uint32_t index) {
  CudaDevice &device = cuda_device(index);
  device.enter();
  return device;
}

/// Lets waits of threads that hold no GIL notice Ctrl-C.
bool look_for_signals() {
  StaysAtEnd stays;
  PyGILState_STATE state = PyGILState_Ensure();
  bool found = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  stays.over();
  return found;
}

void synchronize(uint32_t index) {
  raising([&] {
    CudaDevice &device = entered(index);
    py::gil_scoped_release released;
    wait_for_stream(device, present_stream(index));
    device.check(device.driver().cuCtxSynchronize(), "cuCtxSynchronize");
    raise_late_fault(device);
    return 0;
  });
}

py::dict describe(uint32_t index) {
  return raising([&] {
    CudaDevice &device = entered(index);
    py::dict out;
    out["name"] = device.name();
    out["capability"] = py::make_tuple(device.compute_capability() / 10, device.compute_capability() % 10);
    out["arch"] = device.target().arch;
    out["driver"] = device.driver().version;
    return out;
  });
}

}  // namespace

void bind_cuda(py::module_ &m) {
  set_interrupt_look(look_for_signals);
  Py_AtExit(tell_unseen_faults);  // after all code of Python
  m.def("cuda_why", why_no_cuda);
  m.def("cuda_device_count", [] {
    const CudaDriver *driver = find_driver();
    return driver ? driver->devices : 0;
  });
  m.def("cuda_describe", describe);
  m.def("cuda_synchronize", synchronize);
  m.def("cuda_set_stream", [](uint32_t index, uintptr_t handle) {
    CuStream before = set_stream(index, reinterpret_cast<CuStream>(handle));
    return reinterpret_cast<uintptr_t>(before);
  });
  m.def("cuda_memory", [](uint32_t index) {
    return raising([&] {
      MemoryUse use = entered(index).memory().usage();
      py::dict out;
      out["used"] = use.used, out["kept"] = use.kept, out["free"] = use.free;
      return out;
    });
  });
  m.def("cuda_trim", [](uint32_t index) { raising([&] { return entered(index).memory().trim(), 0; }); });
  m.def("set_package_folders", set_package_folders);
}

}  // namespace kw
