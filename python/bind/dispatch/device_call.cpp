// Python objects → tensors of a device, and back.
#include "bind/dispatch/device_call.h"

#include <algorithm>

#include "bind/dispatch/device_array.h"
#include "bind/dispatch/tensor.h"
#include "runtime/cuda/device.h"
#include "runtime/op_error.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns "cuda:0", as Python writes a device.
std::string python_name(Device d) { return d.kind == DeviceKind::cpu ? "the CPU" : cat("cuda:", d.index); }

/// Raises E505 for argument `i`, which lies on another device than argument `first`. Returns false.
bool refuse_device(const KernelState &k, size_t i, Device its, size_t first, Device device) {
  std::string name = parameter_name(k, i);
  std::string where = device.kind == DeviceKind::cpu ? "cpu"
                      : device.index == 0            ? "cuda"
                                                     : cat("cuda:", device.index);
  raise_error(Code::E505,
              cat("argument '", name, "' of kernel '", k.name, "' is on ", python_name(its), ", '",
                  parameter_name(k, first), "' on ", python_name(device)),
              cat("move it: kw.Tensor(", name, ", device=\"", where, "\")"));
  return false;
}

/// Returns the first argument that lies on the device of the call.
size_t first_on(const CallFrame &f, Device device) {
  for (size_t i = 0; i < f.arg_count; ++i)
    if (const Tensor *t = tensor_of(f.args[i]); t && t->device() == device) return i;
  return f.arg_count;
}

/// Reads one argument that holds an array. Returns false with an exception; leaves `t` empty for numbers.
bool read_array(const KernelState &k, size_t i, Device device, const CallFrame &f, Tensor &t) {
  PyObject *o = f.args[i];
  bool is_captured = i >= k.parameters.names.size();
  if (const Tensor *given = tensor_of(o)) {
    t = *given;
    if (t.history()) return refuse_history(k, i);
  } else if (is_array(o)) {
    t = tensor_over(o, "an argument");
    if (!t) return false;
  }
  if (!t || t.device() == device) return true;
  // arrays that hold one number, and arrays of the kernel's own, go to the device with each call
  if (t.device().kind == DeviceKind::cpu && (t.rank() == 0 || is_captured)) {
    t = t.to(device);
    return true;
  }
  return refuse_device(k, i, t.device(), first_on(f, device), device);
}

}  // namespace

bool adopt_cuda_arrays(CallFrame &f, LibraryStream &stream) {
  auto adopt = [&](PyObject *&o) {
    // NumPy's objects, Python's numbers and our tensors are read directly
    if (!o || is_array_like(o) || PyFloat_CheckExact(o) || PyLong_CheckExact(o) || tensor_of(o)) return true;
    stream.follow(o);
    PyRef tensor = adopted(o);
    if (!tensor) return PyErr_Occurred() == nullptr;
    if (f.foreign.empty()) f.foreign.reserve(f.arg_count + f.out_count);
    PyObject *original = std::exchange(o, tensor.get());
    f.foreign.emplace_back(std::move(tensor), original);
    return true;
  };
  for (size_t i = 0; i < f.arg_count; ++i)
    if (!adopt(f.args[i])) return false;
  for (size_t i = 0; i < f.out_count; ++i)
    if (!adopt(f.given[i])) return false;
  return true;
}

Device device_of_arguments(const CallFrame &f) {
  auto look = [](PyObject *o) {
    const Tensor *t = o ? tensor_of(o) : nullptr;
    return t ? t->device() : Device{};
  };
  for (size_t i = 0; i < f.arg_count; ++i)
    if (Device d = look(f.args[i]); d.kind != DeviceKind::cpu) return d;
  for (size_t i = 0; i < f.out_count; ++i)
    if (Device d = look(f.given[i]); d.kind != DeviceKind::cpu) return d;
  return {};
}

bool read_device_arguments(const KernelState &k, Device device, CallFrame &f, DeviceArguments &arguments) {
  f.device = device;
  arguments.tensors.resize(f.arg_count);
  arguments.given.resize(f.out_count);
  for (size_t i = 0; i < f.arg_count; ++i) {
    Tensor &t = arguments.tensors[i];
    if (!read_array(k, i, device, f, t)) return false;
    if (t)
      f.add_address(t.array()), f.add(t.array(), t.stride_class());
    else if (!read_number(k, i, f))
      return false;
  }
  FixedList<ArrayView, max_outputs> outputs;
  for (size_t i = 0; i < f.out_count; ++i) {
    if (f.given[i]) {
      const Tensor *t = tensor_of(f.given[i]);
      if (!t || t->device() != device) {
        raise_error(Code::E505,
                    cat("out= of kernel '", k.name, "' is on ", t ? python_name(t->device()) : "the CPU",
                        ", its arguments on ", python_name(device)),
                    "give a tensor of the same device, or leave out= away and take the result");
        return false;
      }
      arguments.given[i] = *t;
    }
    outputs.push_back(arguments.given[i] ? arguments.given[i].array() : ArrayView{});
    if (f.given[i]) f.add_address(arguments.given[i].array());
  }
  f.add_outputs(outputs);
  f.add_device_word();
  return true;
}

bool check_written(const KernelState &k, const CallPlan &plan, CallFrame &f,
                   const DeviceArguments &arguments) {
  // what the kernel wrote to a number's copy on the device would be lost
  for (const ParamRecord &p : plan.main->artifact().params) {
    if (p.mode != ParamMode::inout || p.arg < 0) continue;
    auto i = static_cast<size_t>(p.arg);
    const Tensor *own = tensor_of(f.args[i]);
    if (!own || own->device() != f.device)
      return refuse_device(k, i, Device{}, first_on(f, f.device), f.device);
  }
  CallArrays arrays;
  for (const Tensor &t : arguments.tensors) arrays.arguments.push_back(t ? t.array() : ArrayView{});
  for (const Tensor &t : arguments.given) arrays.outputs.push_back(t ? t.array() : ArrayView{});
  auto refused = kw::check_written(f, arrays, plan.main->artifact(), k.name);
  if (refused) raise_error(Code::E222, refused->message, refused->help);
  return !refused;
}

std::optional<std::vector<Tensor>> open_outputs(const KernelState &k, const Entry &entry, CallFrame &f,
                                                const DeviceArguments &arguments) {
  std::vector<Tensor> outputs;
  size_t at = 0;
  for (const ParamRecord &p : entry.kernel->artifact().params) {
    if (p.mode != ParamMode::out) continue;
    size_t number = outputs.size();
    Extents shape = Extents(entry.out_extents).subspan(at, p.rank);
    at += p.rank;
    const Tensor given = number < arguments.given.size() ? arguments.given[number] : Tensor();
    if (given && (given.dtype() != p.dtype || !std::ranges::equal(given.shape(), shape))) {
      raise_error(Code::E222,
                  cat("out= of kernel '", k.name, "' for '", p.name, "' is ",
                      type_text(given.dtype(), given.shape()), " but must be ", type_text(p.dtype, shape)));
      return std::nullopt;
    }
    bool in_place = given && !(f.temporaries >> number & 1u);
    bool zeroed = p.fill == Fill::zero;
    Tensor out = in_place ? given
                 : zeroed ? Tensor::zeros(p.dtype, shape, f.device)
                          : Tensor::empty(p.dtype, shape, f.device);
    bool aliased = in_place && f.same_views && !f.in_source_order && f.out_alias[number] != UINT8_MAX;
    if (in_place && zeroed && !aliased) out.set_zero();
    f.data.push_back(out.data());
    outputs.push_back(std::move(out));
  }
  return outputs;
}

PyObject *device_result(const LoadedKernel &kernel, const CallFrame &f, const DeviceArguments &arguments,
                        const std::vector<Tensor> &outputs) {
  for (size_t i = 0; i < arguments.given.size(); ++i)
    if (f.temporaries >> i & 1u) arguments.given[i].assign(outputs[i]);
  PyObject *first = nullptr;  // results are made in its world
  for (size_t i = 0; !first && i < f.arg_count; ++i)
    if (arguments.tensors[i] && tensor_of(f.args[i])) first = f.args[i];
  PyTypeObject *type = first ? result_class(first) : default_result_class();
  const Artifact &a = kernel.artifact();
  auto result = [&](const Tensor &t) {
    PyObject *tensor = wrap_tensor(type, t), *passed = first ? as_passed(f, first) : nullptr;
    return passed == first ? tensor : in_library_of(passed, tensor);
  };
  auto object = [&](uint32_t param) {
    const ParamRecord &p = a.params[param];
    if (p.arg >= 0) return Py_NewRef(as_passed(f, f.args[p.arg]));
    size_t number = 0;
    for (uint32_t i = 0; i < param; ++i) number += a.params[i].mode == ParamMode::out;
    bool from_user = number < f.out_count && f.given[number];
    return from_user ? Py_NewRef(as_passed(f, f.given[number])) : result(outputs[number]);
  };
  if (a.results.size() == 1 && !a.tuple_of_one) return object(a.results[0]);
  PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(a.results.size()));
  for (size_t i = 0; tuple && i < a.results.size(); ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), object(a.results[i]));
  return tuple;
}

}  // namespace kw
