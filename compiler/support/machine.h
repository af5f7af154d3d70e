// Classes of machines: what the processors of a class have in common. All of them run the same code, and
// loops are scheduled by the nominal figures of the class, not by those of one processor. A row per class.
// Lines of the caches have 64 bytes in all of them (ir/limits).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kw {

struct Machine {
  std::string_view name;
  bool is_x86;
  std::span<const std::string_view> features;  ///< LLVM names, sorted, without '+'
  std::string_view defining;                   ///< the feature that no class before it has
  uint32_t vector_bytes;                       ///< of one vector register
  uint32_t vector_registers;
  uint32_t l1_bytes;                         ///< of the first data cache
  uint32_t page_bytes;                       ///< beyond which hardware prefetchers do not look
  double arithmetic_units, loads_per_cycle;  ///< vector operations that begin in one cycle
  double sum_latency;                        ///< cycles until a sum can go on
  uint32_t shuffles_per_strided_load;
  /// Bytes of a call from which on results that it only writes bypass the caches: what the last cache holds
  /// for one kernel; 0: never.
  uint64_t stream_bytes;
  /// Operations that are worth a thread of their own, as a power of two.
  uint32_t log2_work_per_thread;
};

/// The classes of an architecture, each with the features of those before it.
std::span<const Machine> machines(bool is_x86);

}  // namespace kw
