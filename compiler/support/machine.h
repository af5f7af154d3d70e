// Classes of machines: the common properties of the processors of each class, one row per class, and of each
// architecture of GPUs. All processors of a class run the same code. Loops are scheduled by the nominal
// figures of the class, not by those of one processor. Cache lines of CPUs have 64 bytes in all classes
// (ir/limits).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kw {

struct Machine {
  std::string_view name;
  bool is_x86;
  std::span<const std::string_view> features;  ///< LLVM names, sorted, without '+'
  std::string_view defining;                   ///< the feature that no earlier class has
  uint32_t vector_bytes;                       ///< of one vector register
  uint32_t vector_registers;
  uint32_t l1_bytes;                         ///< of the L1 data cache
  uint32_t page_bytes;                       ///< hardware prefetchers do not cross its end
  double arithmetic_units, loads_per_cycle;  ///< vector operations that start per cycle
  double sum_latency;                        ///< cycles from one addition of a sum to the next
  uint32_t shuffles_per_strided_load;
  /// Bytes of a call from which on write-only results bypass the caches: the part of the last-level cache
  /// that one kernel can use; 0: never.
  uint64_t stream_bytes;
  /// Operations that are worth a thread of their own, as a power of two.
  uint32_t log2_work_per_thread;
};

/// Returns the classes of an architecture; each has the features of those before it.
std::span<const Machine> machines(bool is_x86);

/// An architecture of CUDA devices. The number of multiprocessors is no property of it: it may choose the
/// size of a launch, never the bits of a result.
struct GpuMachine {
  std::string_view name;      ///< as NVRTC takes it, without a suffix
  uint32_t shared_bytes;      ///< the most shared memory of one block
  uint32_t threads;           ///< of one multiprocessor
  uint32_t f32_per_f64;       ///< how many times as fast arithmetic in float32 is as in float64
  std::string_view suffixes;  ///< the letters that may follow the name: special or family features
};

/// Returns the architectures, in the order of their numbers. Each has 64 K registers of 32 bits on a
/// multiprocessor, at most 255 of them for a thread.
std::span<const GpuMachine> gpu_machines();

}  // namespace kw
