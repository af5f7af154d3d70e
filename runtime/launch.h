// Running a loaded kernel: workspace, the environment of the ABI, and the choice of where it runs. Knows
// nothing of Python.
#pragma once

#include <atomic>
#include <functional>

#include "runtime/kernel.h"

namespace kw {

/// The words of one call, in the order of the ABI.
struct CallWords {
  void *const *data = nullptr;
  const int64_t *dims = nullptr;
  const uint64_t *scalars = nullptr;
  int64_t workspace_bytes = 0;
};

struct RunResult {
  int32_t status = 0;  ///< 0 ok, 1 fault, 2 cancelled, 3 out of memory
  KwFault fault{};
};

/// Runs in the calling thread.
RunResult run_here(const LoadedKernel &kernel, const CallWords &words, const volatile uint32_t *cancel);

/// Runs in another thread while the caller looks around: `look` is called at most every 50 ms and returns
/// true to cancel. Used where Ctrl-C has to be noticed.
RunResult run_watched(const LoadedKernel &kernel, const CallWords &words, const std::function<bool()> &look);

/// How calls from C++ run; `work` counts scalar operations. Until another one is set: in the calling thread.
using Runner = RunResult (*)(const LoadedKernel &kernel, int64_t work, const CallWords &words);
void set_runner(Runner runner);
RunResult run_by_runner(const LoadedKernel &kernel, int64_t work, const CallWords &words);

}  // namespace kw
