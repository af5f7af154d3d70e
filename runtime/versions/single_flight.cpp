// One cell per key that is being compiled, and one weak reference per compiled kernel.
#include "runtime/versions/single_flight.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <new>

#include "support/memory.h"
#include "support/stack.h"

namespace kw {

/// One compilation and its waiting callers. Its own mutex guards the result, so waiting does not hold the
/// lock of the map.
struct SingleFlight::Cell {
  pid_t process = getpid();  ///< a child of fork has no thread that would finish its parent's cell
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  Compiled result;
  void finish(const Compiled &made);
};

/// Compiles and converts every exception to a result, because other threads wait for it. Neither a kernel nor
/// errors means that memory ran out.
static Compiled run(const SingleFlight::Compile &compile) noexcept {
  if (!can_throw()) return {};
  try {
    try {
      return {compile(), {}};
    } catch (const ResolvedError &e) {
      return {nullptr, e.errors};
    } catch (const std::bad_alloc &) {
      return {};
    } catch (const std::exception &e) {
      return {nullptr, {Resolved{Code::E503, -1, 0, 0, {}, e.what(), {}, {}}}};
    }
  } catch (...) {  // no memory even for the error
    return {};
  }
}

void SingleFlight::Cell::finish(const Compiled &made) {
  std::scoped_lock lock(mutex);
  try {
    result = made;
  } catch (const std::bad_alloc &) {  // handled like an out-of-memory error of the compilation
    result = {};
  }
  done = true;
  ready.notify_all();
}

bool SingleFlight::begin_apart(const std::shared_ptr<Cell> &cell, const Compile &compile) {
  try {
    return start_thread([cell, compile] { cell->finish(run(compile)); });
  } catch (const std::bad_alloc &) {  // out of memory for the copies
    return false;
  }
}

Compiled SingleFlight::get(const std::string &key, const Compile &compile, const Unlocked &unlocked,
                           const Look &look) {
  constexpr auto interval = std::chrono::milliseconds(50);  // core.md 6: Ctrl-C takes effect within a second
  std::shared_ptr<Cell> cell;
  bool first = false;
  {
    std::scoped_lock lock(mutex_);
    // a fork copied the cell of another process, and no thread of this process would finish it
    Slot &slot = slots_[key];
    if (auto made = slot.made.lock()) return {std::move(made), {}};
    if (!slot.cell || slot.cell->process != getpid()) slot.cell = std::make_shared<Cell>(), first = true;
    cell = slot.cell;
  }
  Compiled result;
  unlocked([&] {
    // a caller with a short stack compiles in a thread with a long one
    bool has_stack = !first || look || stack_left() >= compile_stack / 2;
    bool apart = first && (look || !has_stack) && begin_apart(cell, compile);
    if (first && !apart) cell->finish(has_stack ? run(compile) : Compiled());
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
  // the first waiting thread replaces the cell by a weak reference; the others find it replaced
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
