// One compilation for all threads that ask for the same kernel at the same time. Knows nothing of Python but
// that a caller may hold a lock which it gives up while it compiles or waits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/jit.h"

namespace kw {

/// A kernel, or the errors why there is none.
struct Compiled {
  std::shared_ptr<const LoadedKernel> kernel;
  std::vector<Resolved> errors;
  bool is_interrupted = false;  ///< the caller no longer waits; the compilation runs on
  /// Neither a kernel nor an error.
  bool ran_out_of_memory() const { return !kernel && errors.empty() && !is_interrupted; }
};

/// How callers wait for a compilation when they hold a lock of an interpreter: it is given up meanwhile.
/// Until one is set, nothing is.
using Waiter = void (*)(const std::function<void()> &body);
void set_waiter(Waiter waiter);
void wait_for(const std::function<void()> &body);

/// Threads that compile, and those that wait for them.
class SingleFlight {
 public:
  using Compile = std::function<std::shared_ptr<const LoadedKernel>()>;
  /// Runs what takes long with the caller's own lock given up; all else happens under that lock, so that a
  /// fork under it never copies this object while another thread changes it.
  using Unlocked = std::function<void(const std::function<void()> &)>;
  /// Called every 50 ms while a caller waits, within what Unlocked runs; returns true when it was
  /// interrupted.
  using Look = std::function<bool()>;

  /// What `compile` gives. Of the threads that ask for a key at the same time one runs its `compile`; the
  /// others wait and get the same, and so do those that come while the kernel is held anywhere. Nothing is
  /// kept alive: later calls look into plans and caches first.
  /// An exception of `compile` becomes an error; after a fork the child compiles itself. With a `look` the
  /// compilation runs in a thread of its own, so that the caller can give up; it then must own what it uses.
  Compiled get(const std::string &key, const Compile &compile, const Unlocked &unlocked,
               const Look &look = {});

 private:
  struct Cell;
  /// Compiles in a thread of its own, which takes no signals; false when there is none, or no memory for it.
  static bool begin_apart(const std::shared_ptr<Cell> &cell, const Compile &compile);
  struct Slot {
    std::shared_ptr<Cell> cell;              ///< while a thread compiles, and longer when nobody waits for it
    std::weak_ptr<const LoadedKernel> made;  ///< afterwards
  };
  std::mutex mutex_;
  std::map<std::string, Slot> slots_;
};

}  // namespace kw
