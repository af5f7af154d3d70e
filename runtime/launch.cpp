// Workspace and threads of a run.
#include "runtime/launch.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include <csignal>

#include "runtime/buffer.h"

namespace kw {

namespace {

constexpr size_t kept_bytes = size_t{8} << 20;  ///< a thread keeps this much workspace for itself
constexpr auto look_interval = std::chrono::milliseconds(50);
const volatile uint32_t never = 0;

/// A buffer of one thread, grown on demand.
class Arena {
 public:
  ~Arena() { drop(); }
  void *need(size_t bytes) {
    if (bytes <= size_ && data_) return data_;
    drop();
    data_ = allocate_buffer(bytes);
    if (data_) size_ = bytes;
    return data_;
  }
  void shrink() {
    if (size_ > kept_bytes) drop();
  }

 private:
  void drop() {
    if (data_) release_buffer(data_);
    data_ = nullptr;
    size_ = 0;
  }
  void *data_ = nullptr;
  size_t size_ = 0;
};

Arena &workspace_arena() {
  thread_local Arena arena;
  return arena;
}
Arena &scratch_arena() {
  thread_local Arena arena;
  return arena;
}

/// The serial region: until there is a pool, chunks run in the caller.
void run_chunks(const KwEnv *env, int64_t n, void (*body)(void *, int64_t, int32_t), void *frame) {
  for (int64_t chunk = 0; chunk < n && !__atomic_load_n(env->cancel, __ATOMIC_RELAXED); ++chunk)
    body(frame, chunk, 0);
}

void *scratch(const KwEnv *, size_t bytes) {
  void *p = scratch_arena().need(bytes);
  if (!p) throw std::bad_alloc();
  return p;
}

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
  KwEnv env{KW_ABI_VERSION, 1, run_chunks, scratch, cancel ? cancel : &never};
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
