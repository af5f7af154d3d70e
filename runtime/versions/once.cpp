// A cell per key that is being compiled; a weak reference per kernel that was.
#include "runtime/versions/once.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <new>

namespace kw {

struct OnceCompiler::Cell {
  pid_t process = getpid();  ///< a child of fork has no thread that would finish its parent's cell
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  Compiled result;
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

Compiled OnceCompiler::get(const std::string &key, const Compile &compile, const Unlocked &unlocked) {
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
    if (first) result = run(compile);
    std::unique_lock lock(cell->mutex);
    if (first) {
      try {
        cell->result = result;
      } catch (const std::bad_alloc &) {  // those who wait get neither kernel nor errors, but do not wait on
      }
      cell->done = true;
      cell->ready.notify_all();
    }
    cell->ready.wait(lock, [&] { return cell->done; });
    result = cell->result;
  });
  if (first) {
    std::scoped_lock lock(mutex_);
    slots_[key] = {nullptr, result.kernel};
    std::erase_if(slots_, [](const auto &s) { return !s.second.cell && s.second.made.expired(); });
  }
  return result;
}

static std::atomic<Waiter> waiter_in_force{nullptr};

void set_waiter(Waiter waiter) { waiter_in_force.store(waiter); }

void wait_for(const std::function<void()> &body) {
  Waiter waiter = waiter_in_force.load();
  waiter ? waiter(body) : body();
}

}  // namespace kw
