// The tables. Latencies and units of CPUs are those of the processors of each class since 2015 (Agner Fog's
// tables). The figures of GPUs are those of the CUDA C++ Programming Guide 13.0, "Compute Capabilities".
#include "support/machine.h"

#include <array>

namespace kw {

namespace {

constexpr std::string_view baseline[] = {"sse2"};
constexpr std::string_view generic[] = {"popcnt", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3"};
constexpr std::string_view avx2[] = {"avx",    "avx2", "bmi",  "bmi2",   "f16c",   "fma",
                                     "popcnt", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3"};
constexpr std::string_view avx512[] = {"avx",  "avx2",   "avx512bw", "avx512dq", "avx512f", "avx512vl",
                                       "bmi",  "bmi2",   "f16c",     "fma",      "popcnt",  "sse2",
                                       "sse3", "sse4.1", "sse4.2",   "ssse3"};
constexpr std::string_view neon[] = {"neon"};

// Nominal sizes. Chosen: the smallest L1 cache of the class, and 4 KB pages.
constexpr uint32_t l1 = 32 << 10, page = 4 << 10;
constexpr uint64_t mb = 1 << 20;
// Work per thread, as a power of two. Chosen: some 20 us of vector code.
constexpr uint32_t work = 19;

// name, x86, features, the defining one, vector bytes and registers, L1, page, units, loads, latency,
// shuffles, stream bytes (measured on one machine of each width: bench/results), log2 of the work per thread
constexpr Machine x86[] = {
    {"baseline", true, baseline, "sse2", 16, 16, l1, page, 2, 2, 4, 2, 0, work},
    {"generic", true, generic, "sse4.2", 16, 16, l1, page, 2, 2, 4, 2, 0, work},
    {"avx2", true, avx2, "avx2", 32, 16, l1, page, 2, 2, 4, 2, 32 * mb, work},
    {"avx512", true, avx512, "avx512f", 64, 32, l1, page, 2, 2, 4, 2, 64 * mb, work},
};
constexpr Machine arm[] = {{"neon", false, neon, "neon", 16, 32, l1, page, 2, 2, 4, 2, 0, work}};

constexpr uint32_t kb = 1 << 10;
// name, shared memory of a block, threads of a multiprocessor, float32 per float64 operation, suffixes
constexpr GpuMachine cuda[] = {{"sm_80", 163 * kb, 2048, 2, ""},    {"sm_86", 99 * kb, 1536, 64, ""},
                               {"sm_89", 99 * kb, 1536, 64, ""},    {"sm_90", 227 * kb, 2048, 2, "a"},
                               {"sm_100", 227 * kb, 2048, 2, "af"}, {"sm_103", 227 * kb, 2048, 64, "af"},
                               {"sm_120", 99 * kb, 1536, 64, "af"}};

}  // namespace

std::span<const Machine> machines(bool is_x86) {
  if (is_x86) return x86;
  return arm;
}

std::span<const GpuMachine> gpu_machines() { return cuda; }

}  // namespace kw
