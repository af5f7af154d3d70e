// The pool: workers claim chunks by compare-and-swap of one word and spin briefly before they sleep; there
// are no barriers. Workers start when a region first needs them and are never joined: they hold nothing, and
// a child of fork has none.
#include "runtime/cpu/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "runtime/cpu/float_control.h"
#include "runtime/cpu/park.h"
#include "runtime/cpu/scratch.h"
#include "runtime/cpu/spin.h"
#include "runtime/cpu/thread_count.h"
#include "support/memory.h"
#include "support/stack.h"

namespace kw {

namespace {

constexpr auto worker_spin = std::chrono::microseconds(100);  ///< idle time before a worker sleeps
constexpr auto caller_spin = std::chrono::microseconds(20);   ///< before the caller sleeps too
constexpr uint32_t left_bits = 24;
constexpr uint64_t most_tickets = (uint64_t{1} << left_bits) - 1;

bool is_set(const volatile uint32_t *word) noexcept { return __atomic_load_n(word, __ATOMIC_RELAXED) != 0; }

void run_alone(const Region &r) noexcept {
  for (int64_t chunk = 0; chunk < r.chunks && !is_set(r.cancel); ++chunk) r.body(r.frame, chunk, 0);
}

/// One per process, in memory that is never released, because sleeping workers read it until the process
/// ends.
class Pool {
 public:
  void run(const Region &r) noexcept;
  void forget_workers() noexcept;
  uint32_t workers() const noexcept { return started_.load(std::memory_order_relaxed); }

 private:
  static uint64_t left_of(uint64_t ticket) noexcept { return ticket & most_tickets; }
  /// Returns the chunks per ticket. The first ticket, which is claimed first, stands for the first chunks.
  static int64_t chunks_each(int64_t chunks) noexcept {
    constexpr auto most = static_cast<int64_t>(most_tickets);
    return chunks <= most ? 1 : (chunks - 1) / most + 1;
  }
  static uint64_t tickets_of(int64_t chunks, int64_t each) noexcept {
    return static_cast<uint64_t>(each == 1 ? chunks : (chunks - 1) / each + 1);
  }
  void start_workers(uint32_t wanted) noexcept;
  static void *enter(void *index) noexcept;
  [[noreturn]] void work(uint32_t index) noexcept;
  bool help(uint32_t index) noexcept;
  bool has_work(uint32_t index) const noexcept;
  void sleep(uint32_t index) noexcept;
  void wake(uint32_t count, uint32_t threads) noexcept;
  uint64_t run_tickets(const Region &r, uint64_t ticket, int32_t worker) noexcept;
  Region region() const noexcept;
  void await(uint32_t count) noexcept;

  /// The current region, in one cache line, because a waiting worker must fetch it from its caller's cache.
  /// `ticket` combines the region's number with the count of its unclaimed tickets. If no ticket is left,
  /// nothing can be claimed. So a worker that claims one knows that all fields it read before belong to this
  /// region.
  struct alignas(64) Job {
    std::atomic<uint64_t> ticket{0};
    std::atomic<decltype(Region::body)> body{nullptr};
    std::atomic<void *> frame{nullptr};
    std::atomic<int64_t> chunks{0};
    std::atomic<const volatile uint32_t *> cancel{nullptr};
    std::atomic<uint64_t> float_control{0};
    std::atomic<uint32_t> threads{0};
    std::atomic<int> caller_processor{-1};
  } order_;
  static_assert(sizeof(Job) == 64);
  /// tickets that workers have run; if `caller_sleeps_`, the caller sleeps on it
  alignas(64) std::atomic<uint32_t> finished_{0};
  std::atomic<uint32_t> caller_sleeps_{0};
  /// Held by the thread that runs a region; guards the fields that only this thread writes.
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<uint32_t> sleepers_{0}, started_{0};
  uint32_t tried_ = 0;  ///< workers that were started or refused by the system
  bool watches_forks_ = false;
  struct alignas(64) SleepSlot {
    std::atomic<uint32_t> asleep{0};
  };
  SleepSlot sleep_slots_[max_threads];  ///< indexed by worker, from 1
};

Pool pool;

/// Runs a ticket just claimed and all tickets that it can claim after it; returns their number. If the region
/// is cancelled, it claims the rest at once.
uint64_t Pool::run_tickets(const Region &r, uint64_t ticket, int32_t worker) noexcept {
  int64_t each = chunks_each(r.chunks);
  uint64_t all = tickets_of(r.chunks, each), count = 1;
  for (;;) {
    int64_t chunk = static_cast<int64_t>(all - left_of(ticket)) * each;
    int64_t end = chunk + std::min(each, r.chunks - chunk);
    while (chunk < end && !is_set(r.cancel)) r.body(r.frame, chunk++, worker);
    // the region cannot end while a ticket of this thread is unfinished
    ticket = order_.ticket.load(std::memory_order_relaxed);
    uint64_t taken;
    do {
      if (left_of(ticket) == 0) return count;
      taken = is_set(r.cancel) ? left_of(ticket) : 1;
    } while (!order_.ticket.compare_exchange_weak(ticket, ticket - taken, std::memory_order_relaxed));
    count += taken;
  }
}

void Pool::run(const Region &r) noexcept {
  uint32_t threads = std::min(r.threads, max_threads);
  if (threads < 2 || r.chunks < 2 || busy_.load(std::memory_order_relaxed) ||
      busy_.exchange(true, std::memory_order_acquire))
    return run_alone(r);
  start_workers(threads - 1);
  uint64_t tickets = tickets_of(r.chunks, chunks_each(r.chunks));
  order_.body.store(r.body, std::memory_order_relaxed);
  order_.frame.store(r.frame, std::memory_order_relaxed);
  order_.chunks.store(r.chunks, std::memory_order_relaxed);
  order_.threads.store(threads, std::memory_order_relaxed);
  order_.cancel.store(r.cancel, std::memory_order_relaxed);
  order_.float_control.store(float_control(), std::memory_order_relaxed);
  order_.caller_processor.store(current_processor(), std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  uint64_t number = (order_.ticket.load(std::memory_order_relaxed) >> left_bits) + 1;
  // the caller's own first ticket is never counted in the word
  uint64_t first = (number << left_bits) + tickets;
  order_.ticket.store(first - 1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) wake(1, threads);
  uint64_t own = run_tickets(r, first, 0);
  if (own < tickets) await(static_cast<uint32_t>(tickets - own));
  busy_.store(false, std::memory_order_release);
}

/// Waits until workers have finished `count` tickets.
void Pool::await(uint32_t count) noexcept {
  auto done = [&] { return finished_.load(std::memory_order_acquire) == count; };
  if (spin_until(caller_spin, done, [] {})) return;
  caller_sleeps_.store(1, std::memory_order_seq_cst);
  for (uint32_t now; (now = finished_.load(std::memory_order_seq_cst)) != count;) park_while(finished_, now);
  caller_sleeps_.store(0, std::memory_order_relaxed);
}

Region Pool::region() const noexcept {
  return {order_.body.load(std::memory_order_relaxed), order_.frame.load(std::memory_order_relaxed),
          order_.chunks.load(std::memory_order_relaxed), order_.threads.load(std::memory_order_relaxed),
          order_.cancel.load(std::memory_order_relaxed)};
}

/// Takes part in the present region; returns false if it has no ticket for this worker.
bool Pool::help(uint32_t index) noexcept {
  uint64_t ticket = order_.ticket.load(std::memory_order_acquire);
  Region r;
  uint64_t control;
  do {
    if (left_of(ticket) == 0) return false;
    r = region();
    control = order_.float_control.load(std::memory_order_relaxed);
    if (index >= r.threads) return false;
  } while (!order_.ticket.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel,
                                                std::memory_order_acquire));
  if (left_of(ticket) > 1 && sleepers_.load(std::memory_order_relaxed) > 0) wake(2, r.threads);
  if (float_control() != control) set_float_control(control);
  auto count = static_cast<uint32_t>(run_tickets(r, ticket, static_cast<int32_t>(index)));
  finished_.fetch_add(count, std::memory_order_seq_cst);
  if (caller_sleeps_.load(std::memory_order_seq_cst)) unpark_one(finished_);
  return true;
}

/// Returns whether the present region has tickets left and admits this worker.
bool Pool::has_work(uint32_t index) const noexcept {
  return left_of(order_.ticket.load(std::memory_order_seq_cst)) > 0 &&
         index < order_.threads.load(std::memory_order_relaxed);
}

/// Parks a worker until wake() clears its slot. The slot is set before the last test for work, so no region
/// is missed.
void Pool::sleep(uint32_t index) noexcept {
  scratch_arena().shrink();
  std::atomic<uint32_t> &asleep = sleep_slots_[index].asleep;
  asleep.store(1, std::memory_order_seq_cst);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (has_work(index)) {  // the work came before anyone could see this worker asleep
    if (asleep.exchange(0, std::memory_order_seq_cst)) sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    return;
  }
  while (asleep.load(std::memory_order_acquire)) park_while(asleep, 1);
}

/// Wakes up to `count` workers that may take part. Each of them wakes two more if tickets are left, so that
/// no single thread pays for all.
void Pool::wake(uint32_t count, uint32_t threads) noexcept {
  for (uint32_t i = 1; i < threads && count > 0; ++i) {
    std::atomic<uint32_t> &asleep = sleep_slots_[i].asleep;
    if (!asleep.load(std::memory_order_acquire) || !asleep.exchange(0, std::memory_order_seq_cst)) continue;
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    unpark_one(asleep);
    --count;
  }
}

/// Runs the loop of a worker. If the worker was woken on its caller's processor, it yields instead of
/// spinning in the caller's place.
void Pool::work(uint32_t index) noexcept {
  auto help_once = [&] { return help(index); };
  auto make_way = [&] {
    if (current_processor() == order_.caller_processor.load(std::memory_order_relaxed)) ::sched_yield();
  };
  for (;;)
    if (!spin_until(worker_spin, help_once, make_way)) sleep(index);
}

/// Enters a worker's thread. A worker without memory for its thread-local variables ends: nobody waits for
/// it, and the other workers share the region.
void *Pool::enter(void *index) noexcept {
  if (!can_throw()) return nullptr;
  scratch_arena();
  pool.work(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(index)));
}

/// Starts missing workers; called only by the thread that runs a region. A refused worker is not requested
/// again.
void Pool::start_workers(uint32_t wanted) noexcept {
  if (wanted <= tried_) return;
  if (!watches_forks_)
    watches_forks_ = ::pthread_atfork(nullptr, nullptr, [] { pool.forget_workers(); }) == 0;
  if (!watches_forks_) return;
  for (bool more = true; more && tried_ < wanted;) {
    uintptr_t index = started_.load(std::memory_order_relaxed) + 1;
    more = start_thread(enter, reinterpret_cast<void *>(index));
    if (more) started_.fetch_add(1, std::memory_order_relaxed);
    tried_ = more ? tried_ + 1 : wanted;
  }
}

/// Resets the pool in the child of a fork, which has only one thread: all work of other threads is over.
void Pool::forget_workers() noexcept {
  for (uint32_t i = 0; i <= started_.load(std::memory_order_relaxed) + 1 && i < max_threads; ++i)
    sleep_slots_[i].asleep.store(0, std::memory_order_relaxed);
  order_.ticket.store(order_.ticket.load(std::memory_order_relaxed) & ~most_tickets,
                      std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  caller_sleeps_.store(0, std::memory_order_relaxed);
  sleepers_.store(0, std::memory_order_relaxed);
  started_.store(0, std::memory_order_relaxed);
  tried_ = 0;
  busy_.store(false, std::memory_order_release);
}

}  // namespace

void run_region(const Region &region) noexcept { pool.run(region); }
uint32_t pool_workers() noexcept { return pool.workers(); }

}  // namespace kw
