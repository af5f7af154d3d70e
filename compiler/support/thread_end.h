// What is to be done when a thread ends. A thread_local object with a destructor ends the process where there
// is no memory to note it. The library must stay loaded as long as threads live, and objects are static: a
// process has some thousand keys.
#pragma once

#include <pthread.h>

namespace kw {

class AtThreadEnd {
 public:
  explicit AtThreadEnd(void (*run)(void *)) : made_(pthread_key_create(&key_, run) == 0) {}
  AtThreadEnd(const AtThreadEnd &) = delete;

  /// Has `run` called with `argument`, which is not null, when this thread ends, after the destructors of its
  /// thread_local objects; not at the end of the process. False where there is no memory to note it.
  bool watch(void *argument) const noexcept { return made_ && pthread_setspecific(key_, argument) == 0; }

 private:
  pthread_key_t key_{};
  bool made_;
};

}  // namespace kw
