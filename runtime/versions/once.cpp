// A cell per key that is being compiled; a weak reference per kernel that was.
#include "runtime/versions/once.h"

#include <unistd.h>

#include <pthread.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <new>
#include <system_error>
#include <thread>

namespace kw {

struct OnceCompiler::Cell {
  pid_t process = getpid();  ///< a child of fork has no thread that would finish its parent's cell
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  Compiled result;
  void finish(const Compiled &made);
};

static Compiled run(const OnceCompiler::Compile &compile) noexcept {
  try {
    try {
      return {compile(), {}};
    } catch (const ResolvedError &e) {
      return {nullptr, e.errors};
    } catch (const std::exception &e) {
      return {nullptr, {Resolved{Code::E503, -1, 0, 0, {}, e.what(), {}, {}}}};
    }
  } catch (...) {  // no memory for the error either
    return {};
  }
}

void OnceCompiler::Cell::finish(const Compiled &made) {
  std::scoped_lock lock(mutex);
  try {
    result = made;
  } catch (const std::bad_alloc &) {  // those who wait get neither kernel nor errors, but do not wait on
  }
  done = true;
  ready.notify_all();
}

namespace {

/// How many compilations run in threads of their own; of this process, not of its parent.
struct Running {
  std::mutex mutex;
  std::condition_variable none;
  size_t count = 0;
  pid_t process = getpid();
};
Running &running() {
  static Running *of_process = new Running;  // never destroyed: threads use it to their end
  if (of_process->process != getpid()) of_process = new Running;
  return *of_process;
}

}  // namespace

void wait_for_compile_threads() {
  Running &all = running();
  std::unique_lock lock(all.mutex);
  all.none.wait(lock, [&] { return all.count == 0; });
}

/// False when the system gives no thread. Signals are for the caller.
static bool begin_thread(std::function<void()> body) {
  Running &all = running();
  {
    std::scoped_lock lock(all.mutex);
    ++all.count;
  }
  auto leave = [&all] {
    std::scoped_lock lock(all.mutex);
    if (--all.count == 0) all.none.notify_all();
  };
  sigset_t every, before;
  sigfillset(&every);
  ::pthread_sigmask(SIG_SETMASK, &every, &before);
  bool begun = true;
  try {
    std::thread([body = std::move(body), leave] {
      body();
      leave();
    }).detach();
  } catch (const std::system_error &) {
    leave();
    begun = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return begun;
}

Compiled OnceCompiler::get(const std::string &key, const Compile &compile, const Unlocked &unlocked,
                           const Look &look) {
  constexpr auto interval = std::chrono::milliseconds(50);  // core.md 6: Ctrl-C is noticed within a second
  std::shared_ptr<Cell> cell;
  bool first = false;
  {
    std::scoped_lock lock(mutex_);
    Slot &slot = slots_[key];
    if (auto made = slot.made.lock()) return {std::move(made), {}};
    if (!slot.cell || slot.cell->process != getpid()) slot.cell = std::make_shared<Cell>(), first = true;
    cell = slot.cell;
  }
  Compiled result;
  unlocked([&] {
    bool apart = first && look && begin_thread([cell, compile] { cell->finish(run(compile)); });
    if (first && !apart) cell->finish(run(compile));
    std::unique_lock lock(cell->mutex);
    auto is_done = [&] { return cell->done; };
    while (!cell->ready.wait_for(lock, interval, is_done)) {
      lock.unlock();
      result.is_interrupted = look && look();
      if (result.is_interrupted) return;
      lock.lock();
    }
    result = cell->result;
  });
  if (result.is_interrupted) return result;
  std::scoped_lock lock(mutex_);
  Slot &slot = slots_[key];
  if (slot.cell == cell) slot = {nullptr, result.kernel};
  std::erase_if(slots_, [](const auto &s) { return !s.second.cell && s.second.made.expired(); });
  return result;
}

static std::atomic<Waiter> waiter_in_force{nullptr};

void set_waiter(Waiter waiter) { waiter_in_force.store(waiter); }

void wait_for(const std::function<void()> &body) {
  Waiter waiter = waiter_in_force.load();
  waiter ? waiter(body) : body();
}

}  // namespace kw
