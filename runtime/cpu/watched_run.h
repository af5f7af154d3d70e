// Runs work in another thread while the caller polls. One thread is kept for it and spins briefly after each
// call, so that calls in close succession cost only about a microsecond more. Knows nothing of kernels.
#pragma once

#include <chrono>
#include <functional>

namespace kw {

/// Runs `work(frame)`, which must not throw, in another thread and returns when it has ended. Meanwhile the
/// calling thread calls `look`, which must not throw, after each `interval`. Concurrent calls start a thread
/// of their own. The work computes with the caller's float control and receives no signals. If the system
/// gives no thread, the caller does the work and does not poll.
void run_in_watched_thread(void (*work)(void *frame), void *frame, std::chrono::milliseconds interval,
                           const std::function<void()> &look);

/// Returns whether the kept thread was started in this process and still exists (tests).
bool has_watched_thread() noexcept;

}  // namespace kw
