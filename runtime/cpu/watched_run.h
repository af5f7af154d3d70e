// Work in another thread while the caller looks around. One thread is kept for it and spins for a moment
// after each call, so that calls in close succession cost about a microsecond more. Knows nothing of kernels.
#pragma once

#include <chrono>
#include <functional>

namespace kw {

/// Returns when `work(frame)`, which throws nothing, has ended in another thread; until then `look` is called
/// in this one, each time after `interval`, and throws nothing either. Calls beside another one begin a
/// thread of their own. The work computes with the caller's float control and takes no signals. Where the
/// system gives no thread, the caller does the work and looks at nothing.
void run_in_watched_thread(void (*work)(void *frame), void *frame, std::chrono::milliseconds interval,
                           const std::function<void()> &look);

/// True when the thread that is kept has been started in this process and is still there (tests).
bool has_watched_thread() noexcept;

}  // namespace kw
