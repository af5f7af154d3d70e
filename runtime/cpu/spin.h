// Waiting without sleep: for what another thread is about to do, which comes sooner than the system would
// wake anyone. Decides nothing about what follows in vain.
#pragma once

#include <chrono>

#if defined(__linux__)
#include <sched.h>
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kw {

/// Tells the processor that this thread only waits.
inline void relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// The processor that this thread runs on, or -1: a thread that waits for one on its own spins in vain.
inline int current_processor() noexcept {
#if defined(__linux__)
  return ::sched_getcpu();
#else
  return -1;
#endif
}

/// Spins until `ready` or for some time; whether it was ready. `rest` is called every few microseconds.
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
