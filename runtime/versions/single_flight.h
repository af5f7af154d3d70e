// One compilation for all threads that request the same kernel at the same time. Knows nothing of Python,
// except that a caller may hold a lock that it releases while it compiles or waits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/jit.h"

namespace kw {

/// A kernel, or the errors of its compilation.
struct Compiled {
  std::shared_ptr<const LoadedKernel> kernel;
  std::vector<Resolved> errors;
  bool is_interrupted = false;  ///< the caller no longer waits; the compilation continues
  /// Returns whether there is neither a kernel nor an error.
  bool ran_out_of_memory() const { return !kernel && errors.empty() && !is_interrupted; }
};

/// Runs a wait for a compilation; it releases the caller's interpreter lock meanwhile. Without a set_waiter
/// nothing is released.
using Waiter = void (*)(const std::function<void()> &body);
void set_waiter(Waiter waiter);
void wait_for(const std::function<void()> &body);

/// The running compilations and their waiting threads.
class SingleFlight {
 public:
  using Compile = std::function<std::shared_ptr<const LoadedKernel>()>;
  /// Runs long work without the caller's own lock. Everything else happens under that lock, so that a fork
  /// under it never copies this object while another thread changes it.
  using Unlocked = std::function<void(const std::function<void()> &)>;
  /// Called every 50 ms while a caller waits, inside the body that Unlocked runs; returns true if
  /// interrupted.
  using Look = std::function<bool()>;

  /// Returns the result of `compile`. Of the threads that request a key at the same time, one runs its
  /// `compile` and the others wait for the same result. Later threads also get it while anything holds the
  /// kernel. Nothing is kept alive here: later calls first look into plans and caches.
  /// An exception of `compile` becomes an error. After a fork the child compiles itself. With a `look` the
  /// compilation runs in a separate thread, so that the caller can give up; `compile` must then own its data.
  Compiled get(const std::string &key, const Compile &compile, const Unlocked &unlocked,
               const Look &look = {});

 private:
  struct Cell;
  /// Starts the compilation in a separate thread, which receives no signals. Returns false if there is no
  /// thread or no memory for it.
  static bool begin_apart(const std::shared_ptr<Cell> &cell, const Compile &compile);
  struct Slot {
    std::shared_ptr<Cell> cell;              ///< while a thread compiles, and longer if nobody waits for it
    std::weak_ptr<const LoadedKernel> made;  ///< the kernel, afterwards
  };
  std::mutex mutex_;
  std::map<std::string, Slot> slots_;
};

}  // namespace kw
