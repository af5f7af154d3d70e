// Up to two threads, which end when nothing is left to do.
#include "runtime/cuda/background.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

#include "codegen/llvm_library.h"
#include "runtime/frozen.h"
#include "support/machine.h"
#include "support/options.h"
#include "support/stack.h"

namespace kw {

namespace {

constexpr unsigned most_workers = 2;  // as obtain_cubins: two threads halve the time, and more gain little

bool is_allowed() {
  static const bool allowed = [] {
    const char *text = std::getenv("KW_BACKGROUND");
    return !is_frozen() && !(text && std::string_view(text) == "0");
  }();
  return allowed;
}

/// The jobs of this process. Thread-safe; never destroyed, because its threads may outlive static objects.
class Jobs {
 public:
  static Jobs &of_process() {
    static Jobs &jobs = *new Jobs;
    return jobs;
  }

  void allow() {
    std::scoped_lock lock(mutex_);
    is_open_ = true;
  }

  void add(std::function<void()> job) {
    if (getpid() != process_) return;  // a child of fork reaches no device
    std::scoped_lock lock(mutex_);
    if (!is_open_) return;
    jobs_.push_back(std::move(job));
    if (workers_ < most_workers && start_thread([this] { work(); })) ++workers_;
  }

  void end() {
    if (getpid() != process_) return;  // what runs, runs in the parent
    std::unique_lock lock(mutex_);
    is_open_ = false;
    jobs_.clear();
    changed_.wait(lock, [&] { return workers_ == 0; });
    lock.unlock();
    wait_for_nvrtc();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!jobs_.empty()) {
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      try {
        job();
      } catch (...) {  // the call that needs the code tells
      }
      lock.lock();
    }
    --workers_;
    changed_.notify_all();
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  unsigned workers_ = 0;
  bool is_open_ = false;
};

}  // namespace

void allow_background() {
  if (is_allowed()) Jobs::of_process().allow();
}

void end_background() noexcept { Jobs::of_process().end(); }

void open_nvrtc_in_background() {
  static std::once_flag opened;
  std::call_once(opened, [] {
    constexpr std::string_view empty = "extern \"C\" __global__ void empty() {}\n";
    Jobs::of_process().add([=] {
      HoldForks whole;
      compile_by_nvrtc(empty, gpu_machines().front().name, NvrtcWant::cubin);
    });
  });
}

void compile_in_background(std::vector<CubinSource> sources) {
  // without a cache nobody would find what is made
  if (!process_jit().cache_problem().empty() || !debug_options().cache) return;
  for (CubinSource &source : sources) Jobs::of_process().add([s = std::move(source)] { obtain_cubins({s}); });
}

}  // namespace kw
