// What the processor and its system can run. Asks CPUID itself, because the compiler's own question needs a
// variable of libgcc.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kw {

#if defined(__x86_64__)

/// Returns the registers that the system saves (XCR0): bits 1 and 2 for AVX, 5 to 7 for AVX-512.
inline uint64_t saved_registers() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

/// Returns bits as in exported_features. Source of the bits of CPUID: Intel's manual, volume 2A.
inline uint64_t processor_features() {
  uint32_t a, b1, c1, d, b7 = 0, c7, d7;
  if (!__get_cpuid(1, &a, &b1, &c1, &d)) return 0;
  __get_cpuid_count(7, 0, &a, &b7, &c7, &d7);
  constexpr uint32_t osxsave = 1u << 27;
  uint64_t saved = c1 & osxsave ? saved_registers() : 0;
  bool avx = (saved & 0x6) == 0x6, avx512 = avx && (saved & 0xE0) == 0xE0;
  const bool has[] = {
      (c1 >> 0 & 1) != 0,       (c1 >> 9 & 1) != 0,       (c1 >> 19 & 1) != 0,      (c1 >> 20 & 1) != 0,
      (c1 >> 23 & 1) != 0,                              // sse3 … popcnt
      avx && (c1 >> 28 & 1),    avx && (b7 >> 5 & 1),   // avx, avx2
      (b7 >> 3 & 1) != 0,       (b7 >> 8 & 1) != 0,     // bmi, bmi2
      avx && (c1 >> 12 & 1),    avx && (c1 >> 29 & 1),  // fma, f16c
      avx512 && (b7 >> 16 & 1), avx512 && (b7 >> 30 & 1), avx512 && (b7 >> 17 & 1), avx512 && (b7 >> 31 & 1)};
  uint64_t out = 0;
  for (unsigned i = 0; i < sizeof has; ++i) out |= uint64_t{has[i]} << i;
  return out;
}

#else

inline uint64_t processor_features() { return ~uint64_t{0}; }

#endif

}  // namespace kw
