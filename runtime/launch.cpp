// Workspace, environment and watching of a run; the threads of its parallel regions are the pool's.
#include "runtime/launch.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include <csignal>

#include "runtime/cpu/pool.h"
#include "runtime/cpu/scratch.h"
#include "runtime/cpu/thread_count.h"

namespace kw {

namespace {

constexpr auto look_interval = std::chrono::milliseconds(50);
const volatile uint32_t never = 0;

Arena &workspace_arena() {
  thread_local Arena arena;
  return arena;
}
void run_chunks(const KwEnv *env, int64_t n, void (*body)(void *, int64_t, int32_t), void *frame) {
  run_region({body, frame, n, env->threads, env->cancel});
}

void *scratch(const KwEnv *, size_t bytes) { return scratch_arena().need(bytes); }

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

RunResult run_here(const LoadedKernel &kernel, const CallWords &words, const volatile uint32_t *cancel) {
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
  if (workspace) workspace_arena().shrink();
  return out;
}

RunResult run_watched(const LoadedKernel &kernel, const CallWords &words, const std::function<bool()> &look) {
  RunResult out;
  volatile uint32_t cancel = 0;  // read by the worker at any time
  auto stop = [&] { __atomic_store_n(&cancel, 1u, __ATOMIC_RELAXED); };
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  std::exception_ptr error;
  std::thread worker([&] {
    block_all_signals();
    RunResult r;
    std::exception_ptr thrown;
    try {
      r = run_here(kernel, words, &cancel);
    } catch (...) {  // the interpreter's; generated code throws nothing
      thrown = std::current_exception();
    }
    std::scoped_lock lock(mutex);
    out = r;
    error = thrown;
    done = true;
    finished.notify_one();
  });
  std::exception_ptr look_error;
  {
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, look_interval, [&] { return done; })) {
      lock.unlock();
      try {
        if (!look_error && look()) stop();
      } catch (...) {  // the run ends before the error goes on
        look_error = std::current_exception();
        stop();
      }
      lock.lock();
    }
  }
  worker.join();
  if (look_error) std::rethrow_exception(look_error);
  if (error) std::rethrow_exception(error);
  return out;
}

}  // namespace kw
