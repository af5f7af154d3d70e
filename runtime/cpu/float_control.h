// The processor's control word for rounding and subnormal numbers, one per thread. A thread that helps
// another one must copy it. Traps are left out: they change no result, and a helper has no handler for them.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace kw {

/// Returns the rounding and subnormal modes of this thread, with all traps masked and no flag raised.
inline uint64_t float_control() noexcept {
#if defined(__x86_64__)
  constexpr uint32_t traps = 0x1F80, flags = 0x3F;
  return (_mm_getcsr() & ~flags) | traps;
#elif defined(__aarch64__)
  constexpr uint64_t traps = 0x9F00;
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return word & ~traps;
#else
  return 0;
#endif
}

/// Makes this thread compute like the thread whose float_control returned `word`.
inline void set_float_control([[maybe_unused]] uint64_t word) noexcept {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<uint32_t>(word));
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(word));
#endif
}

}  // namespace kw
