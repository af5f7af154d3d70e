// Runs functions at the end of a thread. A thread_local object with a destructor would end the process if
// there is no memory to register it. The library must stay loaded as long as threads live. Objects are
// static, because a process has only some thousand keys.
#pragma once

#include <pthread.h>

namespace kw {

class AtThreadEnd {
 public:
  explicit AtThreadEnd(void (*run)(void *)) : made_(pthread_key_create(&key_, run) == 0) {}
  AtThreadEnd(const AtThreadEnd &) = delete;

  /// Registers `argument`, which is not null, for this thread. `run(argument)` is called when the thread
  /// ends, after the destructors of its thread_local objects, but not at the end of the process. Returns
  /// false if there is no memory to register it.
  bool watch(void *argument) const noexcept { return made_ && pthread_setspecific(key_, argument) == 0; }

 private:
  pthread_key_t key_{};
  bool made_;
};

}  // namespace kw
