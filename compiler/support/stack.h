// Stacks of threads: the bytes left on the calling one, and threads with enough for a compilation. The stacks
// of callers may have any size; the default size follows `ulimit -s`.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

namespace kw {

/// Bytes for a compilation. Chosen: the usual stack of a main thread. Nesting is limited for it (E105).
constexpr size_t compile_stack = size_t{8} << 20;

/// Most bytes for the code of a kernel. Chosen: the values of 4,000 vector registers.
constexpr size_t kernel_stack = size_t{256} << 10;

/// Returns the bytes that the calling thread may still use; more than there are if the system does not report
/// them.
size_t stack_left() noexcept;

/// Sets the stack of a new thread to at least `bytes`; a larger default stays.
void want_stack(pthread_attr_t &attributes, size_t bytes) noexcept;

/// Runs `body`, which throws nothing, in a new thread with a stack of compile_stack and all signals blocked.
/// If the system gives no thread or there is no memory for one, returns false and runs nothing. With
/// `joined`, the caller joins the thread; else it is detached.
bool start_thread(std::function<void()> body, pthread_t *joined = nullptr) noexcept;
/// Likewise runs `enter(argument)`, which throws nothing; allocates no memory but the thread's.
bool start_thread(void *(*enter)(void *), void *argument, pthread_t *joined = nullptr) noexcept;

}  // namespace kw
