// What code may be generated for: triple, features and caches. Passes ask for capabilities, never for a
// product name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct Target {
  std::string triple;                 ///< e.g. "x86_64-unknown-linux-gnu"; objects are ELF on every system
  std::vector<std::string> features;  ///< LLVM names, sorted, without '+'
  uint32_t l1_bytes = 32 << 10, l2_bytes = 512 << 10;
  /// Operations that are worth a thread of their own, as a power of two: some 20 us of vector code.
  uint32_t log2_work_per_thread = 19;

  bool has(std::string_view feature) const;
  bool has_fma() const { return has("fma") || triple.starts_with("aarch64"); }
  /// Conversions between binary16 and float32.
  bool has_half() const { return has("f16c") || triple.starts_with("aarch64"); }
  /// An instruction that rounds a float to an integer of the same type.
  bool has_rounding() const { return has("sse4.1") || has("avx") || triple.starts_with("aarch64"); }
  /// Of one vector register.
  uint32_t vector_bytes() const { return has("avx512f") ? 64 : has("avx2") ? 32 : 16; }
  uint32_t vector_registers() const { return has("avx512f") || triple.starts_with("aarch64") ? 32 : 16; }
  /// Loads and stores of some lanes only, of elements from `bits` on, at the price of whole ones.
  bool has_masks(uint32_t bits) const {
    return bits >= 32 ? has("avx512f") || has("avx") : has("avx512f") && has("avx512bw");
  }
  /// Any order of the elements of two registers at a price of few instructions, for elements from `bits` on.
  bool has_shuffles(uint32_t bits) const {
    return bits >= 32 || has("avx2") || triple.starts_with("aarch64");
  }
  /// Loads from places that each lane has for itself, and stores to them, in one instruction.
  bool has_gather() const { return has("avx512f"); }
  /// Registers for masks, one bit per lane.
  bool has_mask_registers() const { return has("avx512f"); }
  /// Instructions that convert vectors between floats and integers of 64 bits.
  bool has_vector_i64_conversions() const { return has("avx512dq"); }
  /// An instruction for the minimum of vectors of int32.
  bool has_vector_i32_minimum() const { return has("sse4.1"); }
  /// An instruction for `a < b ? a : b` on vectors of floats of `bits`.
  bool has_select_minimum(uint32_t bits) const { return triple.starts_with("x86_64") && bits >= 32; }
  /// Whether long bodies read vector constants from memory at less cost than they broadcast a scalar in each
  /// iteration: 16 registers are few, and no operand of AVX2 broadcasts as AVX-512's do.
  bool prefers_constants_in_memory() const { return has("avx2") && !has("avx512f"); }
  /// An instruction that multiplies floats by powers of two, also where the result is subnormal.
  bool has_scale() const { return has("avx512f"); }
  /// Bytes of a call from which on results that it only writes go past the caches, in whole lines of 64
  /// bytes: what the last cache holds for one kernel; 0: never. Measured on one machine of each width.
  uint64_t stream_bytes() const {
    if (!triple.starts_with("x86_64")) return 0;
    return has("avx512f") ? uint64_t{64} << 20 : has("avx2") ? uint64_t{32} << 20 : 0;
  }
  int64_t work_per_thread() const { return int64_t{1} << log2_work_per_thread; }
  /// "+avx,+avx2,…"
  std::string feature_text() const;
};

/// Calls f(name, text) for every field; all of them enter the cache key.
template <class F>
void for_each_field(const Target &t, F &&f) {
  f("triple", t.triple);
  f("features", t.feature_text());
  f("l1_bytes", std::to_string(t.l1_bytes));
  f("l2_bytes", std::to_string(t.l2_bytes));
  f("log2_work_per_thread", std::to_string(t.log2_work_per_thread));
}

/// The machine that runs us, read once.
const Target &host_target();

struct NamedTarget {
  Target target;
  std::string error;  ///< empty, or what is wrong with the name
};

/// A target that `host` runs, by its name: "host", "avx512", "avx2" or "generic", each without the vector
/// features beyond it. "" is "host". Behind the name ",grain=N" says that 2^N operations are worth a thread.
NamedTarget parse_target(std::string_view name, const Target &host);

/// What kernels are compiled for: KW_TARGET, read once; with an error the host itself.
const NamedTarget &kernel_target();

}  // namespace kw
