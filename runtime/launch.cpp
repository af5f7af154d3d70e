// Workspace, environment and watching of a run. The pool provides the threads of its parallel regions.
#include "runtime/launch.h"

#include <chrono>
#include <exception>

#include "runtime/cpu/float_control.h"
#include "runtime/cpu/pool.h"
#include "runtime/cpu/scratch.h"
#include "runtime/cpu/thread_count.h"
#include "runtime/cpu/watched_run.h"
#include "support/memory.h"
#include "support/stack.h"

namespace kw {

namespace {

constexpr auto look_interval = std::chrono::milliseconds(50);
/// The cancellation word of runs that nobody can cancel; always 0.
const volatile uint32_t never = 0;

/// `KwEnv::parallel` of every run: passes a parallel region to the pool.
void run_chunks(const KwEnv *env, int64_t n, void (*body)(void *, int64_t, int32_t), void *frame) {
  run_region({body, frame, n, env->threads, env->cancel});
}

/// null until set_runner; calls from C++ then run in their own thread
std::atomic<Runner> runner_in_force{nullptr};

/// `KwEnv::scratch` of every run: memory of the calling thread for the temporaries of one chunk.
void *scratch(const KwEnv *, size_t bytes) { return scratch_arena().need(bytes); }

/// Kernels that need more stack than small_stack test whether it is available. Threads have at least 64 KB,
/// and Python's calls up to here use half of that.
constexpr size_t small_stack = 16 << 10, stack_of_calls = 64 << 10;

/// Returns whether the calling thread has enough stack for the kernel. Small frames skip the test, which
/// keeps short calls fast.
bool fits_stack(const LoadedKernel &kernel) {
  return kernel.stack_bytes() <= small_stack || stack_left() > kernel.stack_bytes() + stack_of_calls;
}

/// Runs a kernel in a thread with its own stack; status 3 if there is no thread.
RunResult run_with_stack(const LoadedKernel &kernel, const CallWords &words,
                         const volatile uint32_t *cancel) {
  RunResult out;
  std::exception_ptr error;
  pthread_t thread{};
  // the new thread must round, and treat subnormal numbers, as the caller does
  uint64_t control = float_control();
  auto body = [&] {
    // without memory for the thread-local variables, an exception would end the process
    if (!can_throw()) {
      out.status = 3;
      return;
    }
    set_float_control(control);
    try {
      out = run_here(kernel, words, cancel);
    } catch (...) {
      error = std::current_exception();
    }
  };
  if (start_thread(body, &thread))
    ::pthread_join(thread, nullptr);
  else
    out.status = 3;
  if (error) std::rethrow_exception(error);
  return out;
}

}  // namespace

RunResult run_here(const LoadedKernel &kernel, const CallWords &words, const volatile uint32_t *cancel) {
  if (!fits_stack(kernel)) [[unlikely]]
    return run_with_stack(kernel, words, cancel);
  RunResult out;
  void *workspace = nullptr;
  if (words.workspace_bytes > 0) {
    workspace = workspace_arena().need(static_cast<size_t>(words.workspace_bytes));
    if (!workspace) {
      out.status = 3;
      return out;
    }
  }
  KwEnv env{KW_ABI_VERSION, thread_count(), run_chunks, scratch, cancel ? cancel : &never};
  out.status = kernel.run(&env, words.data, words.dims, words.scalars, workspace, &out.fault);
  // a thread keeps a bounded workspace between runs; a larger one returns to the pool of buffers
  if (workspace) workspace_arena().shrink();
  return out;
}

RunResult run_watched(const LoadedKernel &kernel, const CallWords &words, const std::function<bool()> &look) {
  struct Frame {
    const LoadedKernel &kernel;
    const CallWords &words;
    volatile uint32_t cancel = 0;  // the worker may read it at any time
    RunResult result{};
    std::exception_ptr error{}, look_error{};
    void stop() { __atomic_store_n(&cancel, 1u, __ATOMIC_RELAXED); }
  } frame{kernel, words};
  auto work = [](void *of) {
    Frame &f = *static_cast<Frame *>(of);
    try {
      f.result = run_on_device(f.kernel, f.words, &f.cancel);
    } catch (...) {  // from the interpreter; generated code throws nothing
      f.error = std::current_exception();
    }
  };
  run_in_watched_thread(work, &frame, look_interval, [&] {
    try {
      if (!frame.look_error && look()) frame.stop();
    } catch (...) {  // the run must end before the error propagates
      frame.look_error = std::current_exception();
      frame.stop();
    }
  });
  if (frame.look_error) std::rethrow_exception(frame.look_error);
  if (frame.error) std::rethrow_exception(frame.error);
  return frame.result;
}

void set_runner(Runner runner) { runner_in_force.store(runner); }

RunResult run_by_runner(const LoadedKernel &kernel, int64_t work, const CallWords &words) {
  Runner runner = runner_in_force.load();
  return runner ? runner(kernel, work, words) : run_on_device(kernel, words, nullptr);
}

}  // namespace kw
