// A mutex that a child of fork finds free, even if a thread that the child lacks held it. For locks that are
// held while foreign code runs, so that a fork need not wait for them.
#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace kw {

/// Meets the BasicLockable requirements. A thread that forks while it holds the mutex still holds it in the
/// child.
/// Not for variables static in a function: the constructor waits for forks, and the child would find such a
/// variable under construction for ever.
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
  /// Frees the mutex if another thread holds it. Called in a child of fork, which has one thread.
  void free_from_other_threads();

 private:
  std::mutex mutex_;
  std::atomic<pthread_t> owner_{};
  std::atomic<bool> is_owned_{false};
};

}  // namespace kw
