// The kept thread. It receives its work through one word, on which it spins and then sleeps. It is never
// joined: it holds nothing, and a child of fork does not have it.
#include "runtime/cpu/watched_run.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>

#include "runtime/cpu/float_control.h"
#include "runtime/cpu/park.h"
#include "runtime/cpu/scratch.h"
#include "runtime/cpu/spin.h"
#include "support/memory.h"
#include "support/stack.h"

namespace kw {

namespace {

constexpr auto thread_spin = std::chrono::microseconds(100);  ///< idle time before the thread sleeps
constexpr auto waiter_spin = std::chrono::microseconds(4);    ///< before the caller sleeps too
constexpr uint32_t look_again = 64;                           ///< calls after which a caller spins anyway

/// Work for another thread, and the float control of the thread that asks for it.
struct Job {
  void (*work)(void *) = nullptr;
  void *frame = nullptr;
  uint64_t control = 0;

  void run() const noexcept {
    set_float_control(control);
    work(frame);
  }
};

/// The event on which the waiting caller sleeps. A child of fork gets a new one: the old may be locked.
struct WakeEvent {
  std::mutex mutex;
  std::condition_variable rung;
};

/// One per process, in memory that is never released.
class WatchedThread {
 public:
  /// Runs a job in the kept thread; returns false if it is busy or the system refuses a thread.
  bool run(const Job &job, std::chrono::milliseconds interval, const std::function<void()> &look);
  void forget_thread() noexcept;
  bool has_thread() const noexcept { return started_.load(std::memory_order_relaxed); }

 private:
  enum State : uint32_t { idle, given, ended };
  bool start() noexcept;
  static void *enter(void *self) noexcept;
  [[noreturn]] void work() noexcept;
  void sleep() noexcept;

  enum Begun : uint32_t { not_yet, works, failed };
  std::atomic<uint32_t> begun_{not_yet};
  std::atomic<bool> busy_{false}, started_{false};
  bool watches_forks_ = false;
  Job job_;
  alignas(64) std::atomic<uint32_t> state_{idle};
  std::atomic<uint32_t> asleep_{0};
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<int> caller_core_{-1};
  std::atomic<bool> crowded_{false};  ///< both threads are on one core, where spinning slows the other
  uint32_t calls_ = 0;
  WakeEvent *bell_ = nullptr;
};

WatchedThread aside;

bool WatchedThread::run(const Job &job, std::chrono::milliseconds interval,
                        const std::function<void()> &look) {
  if (busy_.exchange(true, std::memory_order_acquire)) return false;
  if (!has_thread() && !start()) {
    busy_.store(false, std::memory_order_release);
    return false;
  }
  job_ = job;
  caller_core_.store(current_processor(), std::memory_order_relaxed);
  state_.store(given, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(0, std::memory_order_seq_cst))
    unpark_one(asleep_);
  auto has_ended = [&] { return state_.load(std::memory_order_seq_cst) == ended; };
  // on a shared core the caller sleeps at once; now and then it spins, to test whether the threads still
  // share it
  bool spins = !crowded_.load(std::memory_order_relaxed) || ++calls_ % look_again == 0;
  if (!spins || !spin_until(waiter_spin, has_ended, [] {})) {
    std::unique_lock lock(bell_->mutex);
    caller_sleeps_.store(true, std::memory_order_seq_cst);
    while (!bell_->rung.wait_for(lock, interval, has_ended)) {
      lock.unlock();
      look();
      lock.lock();
    }
    caller_sleeps_.store(false, std::memory_order_relaxed);
  }
  state_.store(idle, std::memory_order_relaxed);
  busy_.store(false, std::memory_order_release);
  return true;
}

void WatchedThread::work() noexcept {
  for (;;) {
    auto has_work = [&] { return state_.load(std::memory_order_acquire) == given; };
    if (crowded_.load(std::memory_order_relaxed)) sleep();
    while (!spin_until(thread_spin, has_work, [] {})) sleep();
    job_.run();
    WakeEvent *bell = bell_;
    state_.store(ended, std::memory_order_seq_cst);
    bool sleeps = caller_sleeps_.load(std::memory_order_seq_cst);
    int core = current_processor();
    crowded_.store(sleeps && core >= 0 && core == caller_core_.load(std::memory_order_relaxed),
                   std::memory_order_relaxed);
    if (!sleeps) continue;
    std::scoped_lock lock(bell->mutex);
    bell->rung.notify_one();
  }
}

void WatchedThread::sleep() noexcept {
  scratch_arena().shrink();
  asleep_.store(1, std::memory_order_seq_cst);
  if (state_.load(std::memory_order_seq_cst) ==
      given) {  // the work came before anyone could see this thread asleep
    asleep_.store(0, std::memory_order_relaxed);
    return;
  }
  while (asleep_.load(std::memory_order_acquire)) park_while(asleep_, 1);
}

/// Enters the kept thread, which ends if it has no memory for its thread-local variables.
void *WatchedThread::enter(void *self) noexcept {
  auto *aside = static_cast<WatchedThread *>(self);
  bool has_memory = can_throw();
  if (has_memory) scratch_arena();
  aside->begun_.store(has_memory ? works : failed, std::memory_order_release);
  if (has_memory) aside->work();
  return nullptr;
}

/// Starts the kept thread; called only by the caller that holds `busy_`.
bool WatchedThread::start() noexcept {
  if (!watches_forks_)
    watches_forks_ = ::pthread_atfork(nullptr, nullptr, [] { aside.forget_thread(); }) == 0;
  if (!watches_forks_) return false;
  if (!bell_) bell_ = new (std::nothrow) WakeEvent;
  if (!bell_) return false;
  begun_.store(not_yet, std::memory_order_relaxed);
  bool made = start_thread(enter, this);
  while (made && begun_.load(std::memory_order_acquire) == not_yet) ::sched_yield();
  made = made && begun_.load(std::memory_order_relaxed) == works;
  started_.store(made, std::memory_order_relaxed);
  return made;
}

/// Resets the state in the child of a fork, which has only one thread.
void WatchedThread::forget_thread() noexcept {
  bell_ = nullptr;  // the old event may be locked forever
  asleep_.store(0, std::memory_order_relaxed);
  caller_sleeps_.store(false, std::memory_order_relaxed);
  crowded_.store(false, std::memory_order_relaxed);
  state_.store(idle, std::memory_order_relaxed);
  started_.store(false, std::memory_order_relaxed);
  busy_.store(false, std::memory_order_release);
}

/// Runs a job in a new thread; returns false if the system refuses the thread.
bool run_in_new_thread(const Job &job, std::chrono::milliseconds interval,
                       const std::function<void()> &look) {
  WakeEvent bell;
  bool has_ended = false;
  pthread_t thread{};
  auto body = [&] {
    job.run();
    std::scoped_lock lock(bell.mutex);
    has_ended = true;
    bell.rung.notify_one();
  };
  if (!start_thread(body, &thread)) return false;
  {
    std::unique_lock lock(bell.mutex);
    while (!bell.rung.wait_for(lock, interval, [&] { return has_ended; })) {
      lock.unlock();
      look();
      lock.lock();
    }
  }
  ::pthread_join(thread, nullptr);
  return true;
}

}  // namespace

void run_in_watched_thread(void (*work)(void *), void *frame, std::chrono::milliseconds interval,
                           const std::function<void()> &look) {
  Job job{work, frame, float_control()};
  if (!aside.run(job, interval, look) && !run_in_new_thread(job, interval, look)) job.run();
}

bool has_watched_thread() noexcept { return aside.has_thread(); }

}  // namespace kw
