// Calls of kernels with arrays on a GPU. They read tensors instead of NumPy arrays; plans, checks and runs
// are those of every call.
#pragma once

#include "bind/dispatch/args.h"
#include "bind/dispatch/device_array.h"
#include "bind/dispatch/dispatch.h"
#include "runtime/launch.h"

namespace kw {

/// Replaces arguments and given outputs that have the CUDA array interface by tensors over their memory; from
/// the first one on, the thread works in the stream. Returns false with an exception.
bool adopt_cuda_arrays(CallFrame &f, LibraryStream &stream);

/// Returns the device of the first argument or given output that lies on a GPU; the CPU if none does.
Device device_of_arguments(const CallFrame &f);

/// The tensors of a call on a GPU.
struct DeviceArguments {
  std::vector<Tensor> tensors;  ///< by argument; empty for numbers
  std::vector<Tensor> given;    ///< by output; empty if none is given
};

/// Reads all arguments of a call on `device`: tensors of that device, numbers, arrays without dimensions, and
/// captured arrays, of which it makes copies there. Returns false with an exception: E505 for an array of
/// another device.
bool read_device_arguments(const KernelState &k, Device device, CallFrame &f, DeviceArguments &arguments);

/// Checks the tensors that the kernel writes (runtime/calls/invocation). Returns false with an exception.
bool check_written(const KernelState &k, const CallPlan &plan, CallFrame &f,
                   const DeviceArguments &arguments);

/// Returns the outputs of a call, new or given, and adds their data to it. Returns nothing with an exception
/// (E222) if a given one does not fit.
std::optional<std::vector<Tensor>> open_outputs(const KernelState &k, const Entry &entry, CallFrame &f,
                                                const DeviceArguments &arguments);

/// Builds the result of a call: arguments and given outputs as the caller passed them, and new tensors of the
/// class of the first tensor that was passed. Copies what was computed in new memory for a given output.
PyObject *device_result(const LoadedKernel &kernel, const CallFrame &f, const DeviceArguments &arguments,
                        const std::vector<Tensor> &outputs);

}  // namespace kw
