// Lists all such mutexes for the handlers of fork.
#include "support/fork_mutex.h"

#include <new>
#include <unordered_set>

namespace kw {

namespace {

struct AllMutexes {
  std::mutex mutex;
  std::unordered_set<ForkMutex *> list;

  AllMutexes();
};

AllMutexes &all() {
  static auto *it = new AllMutexes;  // never destroyed: other statics hold such mutexes
  return *it;
}

AllMutexes::AllMutexes() {
  int failed = pthread_atfork([] { all().mutex.lock(); }, [] { all().mutex.unlock(); },
                              [] {
                                for (ForkMutex *m : all().list) m->free_from_other_threads();
                                all().mutex.unlock();
                              });
  if (failed) throw std::bad_alloc();
}

}  // namespace

ForkMutex::ForkMutex() {
  std::scoped_lock lock(all().mutex);
  all().list.insert(this);
}

ForkMutex::~ForkMutex() {
  std::scoped_lock lock(all().mutex);
  all().list.erase(this);
}

void ForkMutex::free_from_other_threads() {
  if (is_owned_ && pthread_equal(owner_, pthread_self())) return;
  new (&mutex_) std::mutex;  // the threads that used the old one are not in this process
  is_owned_ = false;
}

}  // namespace kw
