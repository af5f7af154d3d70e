// A mutex that a child of fork finds free, although a thread that the child does not have held it. For locks
// that are held while foreign code runs, so that a fork cannot wait for them.
#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace kw {

/// Meets the BasicLockable requirements. A thread that forks while it holds the mutex still holds it in the
/// child.
class ForkMutex {
 public:
  ForkMutex();
  ~ForkMutex();
  ForkMutex(const ForkMutex &) = delete;
  ForkMutex &operator=(const ForkMutex &) = delete;

  void lock() {
    mutex_.lock();
    owner_ = pthread_self(), is_owned_ = true;
  }
  void unlock() {
    is_owned_ = false;
    mutex_.unlock();
  }
  /// Called in a child of fork, which has one thread.
  void free_from_other_threads();

 private:
  std::mutex mutex_;
  std::atomic<pthread_t> owner_{};
  std::atomic<bool> is_owned_{false};
};

}  // namespace kw
