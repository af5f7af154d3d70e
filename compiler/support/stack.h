// Stacks of threads: how much the calling one has left, and threads that have enough for a compilation. The
// stacks that callers bring may be of any size; those that the system gives by default follow `ulimit -s`.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

namespace kw {

/// What a compilation may take; chosen: the usual stack of a main thread. Nesting is limited for it (E105).
constexpr size_t compile_stack = size_t{8} << 20;

/// The most that the code of a kernel may take; chosen: the values of 4,000 vector registers.
constexpr size_t kernel_stack = size_t{256} << 10;

/// Bytes that the calling thread may still use; more than there are where the system does not tell.
size_t stack_left() noexcept;

/// Sets the stack of a thread that is to be made to so many bytes, or more where that is the default.
void want_stack(pthread_attr_t &attributes, size_t bytes) noexcept;

/// Runs `body`, which throws nothing, in a new thread with a stack of compile_stack, which takes no signals;
/// false, and nothing is run, when the system gives no thread or there is no memory for one. The caller joins
/// the thread when it asks for its name; else nobody does.
bool start_thread(std::function<void()> body, pthread_t *joined = nullptr) noexcept;
/// Runs `enter(argument)`, which throws nothing, likewise; takes no memory but the thread's.
bool start_thread(void *(*enter)(void *), void *argument, pthread_t *joined = nullptr) noexcept;

}  // namespace kw
