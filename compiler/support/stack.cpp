// Sets and reads pthread attributes.
#include "support/stack.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <memory>
#include <new>

namespace kw {

/// Returns the end of the calling thread's stack; 0 if it is unknown. For the main thread the C library reads
/// all mappings of the process.
static uintptr_t end_of_stack() noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 0;
  void *low = nullptr;
  size_t size = 0, guard = 0;
  bool known = ::pthread_attr_getstack(&attributes, &low, &size) == 0 &&
               ::pthread_attr_getguardsize(&attributes, &guard) == 0;
  ::pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<uintptr_t>(low) + guard : 0;
}

size_t stack_left() noexcept {
  static thread_local uintptr_t end = end_of_stack();
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > end ? here - end : 0;
}

void want_stack(pthread_attr_t &attributes, size_t bytes) noexcept {
  size_t given = 0;
  if (::pthread_attr_getstacksize(&attributes, &given) == 0 && given < bytes)
    ::pthread_attr_setstacksize(&attributes, bytes);
}

bool start_thread(void *(*enter)(void *), void *argument, pthread_t *joined) noexcept {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  want_stack(attributes, compile_stack);
  ::pthread_attr_setdetachstate(&attributes, joined ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  bool made = ::pthread_create(&thread, &attributes, enter, argument) == 0;
  if (made && joined) *joined = thread;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return made;
}

static void *run_body(void *body) {
  std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()> *>(body));
  (*owned)();
  return nullptr;
}

bool start_thread(std::function<void()> body, pthread_t *joined) noexcept {
  std::unique_ptr<std::function<void()>> owned(new (std::nothrow) std::function<void()>(std::move(body)));
  if (!owned || !start_thread(run_body, owned.get(), joined)) return false;
  owned.release();
  return true;
}

}  // namespace kw
