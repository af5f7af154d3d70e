// Running a loaded kernel: workspace, the environment of the ABI, and the choice of the thread. Knows nothing
// of Python.
#pragma once

#include <atomic>
#include <functional>

#include "runtime/device.h"
#include "runtime/kernel.h"

namespace kw {

/// The words of one call, in the order of the ABI.
struct CallWords {
  void *const *data = nullptr;
  const int64_t *dims = nullptr;
  const uint64_t *scalars = nullptr;
  int64_t workspace_bytes = 0;
  Device device{};                       ///< of all data
  DeviceStream stream{};                 ///< in which it runs; without a handle, that of the thread
  const int64_t *out_extents = nullptr;  ///< of the outputs, concatenated; read on other devices than the CPU
  bool waits = false;                    ///< the run has ended when the function that starts it returns
};

struct RunResult {
  int32_t status = 0;  ///< 0 ok, 1 fault, 2 cancelled, 3 out of memory
  KwFault fault{};
};

/// Runs the kernel on the CPU, in the calling thread.
RunResult run_here(const LoadedKernel &kernel, const CallWords &words, const volatile uint32_t *cancel);

/// Runs the kernel on the device of its data; on the CPU the results are there when it returns. The CPU's row
/// of the table of devices is not looked up: that was 5 % of a call of 55 ns (callgrind, instructions).
inline RunResult run_on_device(const LoadedKernel &kernel, const CallWords &words,
                               const volatile uint32_t *cancel) {
  if (words.device.kind == DeviceKind::cpu) [[likely]]
    return run_here(kernel, words, cancel);
  return device_api(words.device.kind).launch(kernel, words, words.stream, cancel);
}

/// Runs the kernel in another thread while the caller polls: `look` is called at most every 50 ms and returns
/// true to cancel. Used where Ctrl-C must be noticed.
RunResult run_watched(const LoadedKernel &kernel, const CallWords &words, const std::function<bool()> &look);

/// Runs calls from C++; `work` counts scalar operations. Without a set_runner they run in the calling thread.
using Runner = RunResult (*)(const LoadedKernel &kernel, int64_t work, const CallWords &words);
void set_runner(Runner runner);
RunResult run_by_runner(const LoadedKernel &kernel, int64_t work, const CallWords &words);

}  // namespace kw
