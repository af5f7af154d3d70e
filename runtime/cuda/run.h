// Runs a loaded program on a device: its launches go into a stream, and the host waits only where the program
// reads a word of the device.
#pragma once

#include "runtime/cuda/device.h"
#include "runtime/launch.h"

namespace kw {

/// Starts a kernel with code for GPUs. Status 0: it was started, and its faults come later; with `wait`, it
/// has ended. Status 1: a check of the host failed, or with `wait` one of the device.
RunResult start_on_device(CudaDevice &device, const LoadedKernel &kernel, const CallWords &words,
                          CuStream stream, const volatile uint32_t *cancel, bool wait);

/// Returns whether a call of the kernel on a device waits for the device: its program reads what kernels have
/// computed, it runs on the host, or KW_DEBUG=wait.
bool waits_for_host(const LoadedKernel &kernel);

/// Returns the stream in which this thread works on a device, and where its call stands, for calls that
/// another thread makes for it.
DeviceStream stream_of_thread(Device device);

/// Runs a kernel with code for the CPU on copies of the arrays; returns when the results are on the device.
RunResult run_on_host(CudaDevice &device, const LoadedKernel &kernel, const CallWords &words, CuStream stream,
                      const volatile uint32_t *cancel);

}  // namespace kw
