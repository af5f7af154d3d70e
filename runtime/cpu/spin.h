// Busy waiting for an action of another thread that comes sooner than the system would wake a thread. The
// caller decides what to do if it does not come.
#pragma once

#include <chrono>

#if defined(__linux__)
#include <sched.h>
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kw {

/// Tells the processor that this thread is busy waiting.
inline void relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Returns the processor of this thread, or -1. Spinning for a thread on the same processor is useless.
inline int current_processor() noexcept {
#if defined(__linux__)
  return ::sched_getcpu();
#else
  return -1;
#endif
}

/// Spins until `ready` or until `time` has passed; returns whether it was ready. Calls `rest` every few
/// microseconds.
template <class F, class G>
bool spin_until(std::chrono::microseconds time, F &&ready, G &&rest) noexcept {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point end{};; rest()) {
    for (int k = 0; k < 64; ++k) {
      if (ready()) return true;
      relax();
    }
    Clock::time_point now = Clock::now();
    if (end == Clock::time_point{}) end = now + time;
    if (now >= end) return false;
  }
}

}  // namespace kw
