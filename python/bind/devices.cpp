// Functions of the C interface: each costs an import a hundredth of what one of pybind11's does.
#include "bind/devices.h"

#include "bind/dispatch/state.h"
#include "codegen/cuda/nvrtc.h"
#include "runtime/cuda/background.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/faults.h"

namespace kw {

namespace {

/// Reads the number of a device. Returns false with an exception.
bool read_index(PyObject *number, uint32_t &index) {
  int overflow = 0;
  auto value = PyLong_AsLongAndOverflow(number, &overflow);
  if (value == -1 && PyErr_Occurred()) return false;
  bool fits = !overflow && value >= 0 && value < most_devices;
  if (!fits) PyErr_Format(PyExc_ValueError, "there is no device %R; devices are numbered from 0 on", number);
  index = static_cast<uint32_t>(value);
  return fits;
}

/// Runs `f(device)` with the device's context; null with an exception.
template <class F>
PyObject *on_device(PyObject *number, F &&f) {
  uint32_t index = 0;
  if (!read_index(number, index)) return nullptr;
  return guarded([&]() -> PyObject * {
    CudaDevice &device = cuda_device(index);
    device.enter();
    return f(device);
  });
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

/// Calls what a chain of attributes of a module names, if the program has imported the module. Ignores
/// errors.
void call_in(const char *module, std::initializer_list<const char *> attributes) {
  PyObject *modules = PyImport_GetModuleDict();
  PyRef at(Py_XNewRef(PyDict_GetItemString(modules, module)));
  for (const char *name : attributes)
    if (at) at = PyRef(PyObject_GetAttrString(at.get(), name));
  if (at) at = PyRef(PyObject_CallNoArgs(at.get()));
  PyErr_Clear();
}

/// Lets PyTorch give the memory back that it keeps.
void ask_for_memory() {
  StaysAtEnd stays;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  call_in("torch", {"cuda", "empty_cache"});
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
  stays.over();
}

PyObject *cuda_why(PyObject *, PyObject *) {
  return guarded([] { return PyUnicode_FromString(why_no_first_device().c_str()); });
}

PyObject *cuda_device_count(PyObject *, PyObject *) {
  return guarded([] {
    const CudaDriver *driver = find_driver();
    return PyLong_FromLong(driver ? driver->devices : 0);
  });
}

PyObject *cuda_describe(PyObject *, PyObject *number) {
  return on_device(number, [](CudaDevice &device) {
    int capability = device.compute_capability();  // 90 for 9.0
    return Py_BuildValue("{sss(ii)sssi}", "name", device.name().c_str(), "capability", capability / 10,
                         capability % 10, "arch", device.target().arch.c_str(), "driver",
                         device.driver().version);
  });
}

PyObject *cuda_synchronize(PyObject *, PyObject *number) {
  return on_device(number, [](CudaDevice &device) {
    GilReleased released;
    wait_for_stream(device, present_stream(device.index()));
    device.check(device.driver().cuCtxSynchronize(), "cuCtxSynchronize");
    raise_late_fault(device, FaultLog::Whose::all);
    return released.with_gil([] { return Py_NewRef(Py_None); });
  });
}

PyObject *cuda_set_stream(PyObject *, PyObject *args) {
  PyObject *number = nullptr, *handle = nullptr;
  uint32_t index = 0;
  if (!PyArg_ParseTuple(args, "OO", &number, &handle) || !read_index(number, index)) return nullptr;
  void *stream = PyLong_AsVoidPtr(handle);
  if (PyErr_Occurred()) return nullptr;
  return PyLong_FromVoidPtr(set_stream(index, static_cast<CuStream>(stream)));
}

PyObject *cuda_memory(PyObject *, PyObject *number) {
  return on_device(number, [](CudaDevice &device) {
    MemoryUse use = device.memory().usage();
    return Py_BuildValue("{snsnsn}", "used", static_cast<Py_ssize_t>(use.used), "kept",
                         static_cast<Py_ssize_t>(use.kept), "free", static_cast<Py_ssize_t>(use.free));
  });
}

PyObject *cuda_trim(PyObject *, PyObject *number) {
  return on_device(number, [](CudaDevice &device) {
    GilReleased released;  // it waits for the device
    device.memory().trim();
    return released.with_gil([] { return Py_NewRef(Py_None); });
  });
}

PyObject *set_folders(PyObject *, PyObject *folders) {
  return guarded([&]() -> PyObject * {
    PyRef items(PySequence_Fast(folders, "expected a list of folders"));
    std::vector<std::string> names;
    for (Py_ssize_t i = 0; items && i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      names.push_back(utf8(PySequence_Fast_GET_ITEM(items.get(), i)));
    if (!items) return nullptr;
    set_package_folders(std::move(names));
    return Py_NewRef(Py_None);
  });
}

PyObject *end_background_work(PyObject *, PyObject *) {
  {
    GilReleased released;  // a fork of another thread may wait for the compilation
    end_background();
  }
  return Py_NewRef(Py_None);
}

PyMethodDef device_functions[] = {{"cuda_why", cuda_why, METH_NOARGS, nullptr},
                                  {"cuda_device_count", cuda_device_count, METH_NOARGS, nullptr},
                                  {"cuda_describe", cuda_describe, METH_O, nullptr},
                                  {"cuda_synchronize", cuda_synchronize, METH_O, nullptr},
                                  {"cuda_set_stream", cuda_set_stream, METH_VARARGS, nullptr},
                                  {"cuda_memory", cuda_memory, METH_O, nullptr},
                                  {"cuda_trim", cuda_trim, METH_O, nullptr},
                                  {"set_package_folders", set_folders, METH_O, nullptr},
                                  {"end_background", end_background_work, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_device_functions(PyObject *module) {
  set_interrupt_look(look_for_signals);
  set_memory_request(ask_for_memory);
  Py_AtExit(tell_unseen_faults);  // after all code of Python
  if (PyModule_AddFunctions(module, device_functions) != 0) return false;
  PyRef handlers(PyImport_ImportModule("atexit"));
  PyRef end(PyObject_GetAttrString(module, "end_background"));
  if (!handlers || !end || !PyRef(PyObject_CallMethod(handlers.get(), "register", "O", end.get())))
    return false;
  allow_background();
  return true;
}

}  // namespace kw
