// What code may be generated for: triple, features and the class of machine that they make. Passes ask for
// capabilities, never for a product name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/machine.h"

namespace kw {

struct Target {
  std::string triple;                 ///< e.g. "x86_64-unknown-linux-gnu"; objects are ELF on every system
  std::vector<std::string> features;  ///< LLVM names, sorted, without '+'
  /// In place of the class's Machine::log2_work_per_thread.
  std::optional<uint32_t> grain{};

  bool has(std::string_view feature) const;
  bool has_fma() const { return has("fma") || triple.starts_with("aarch64"); }
  /// Conversions between binary16 and float32.
  bool has_half() const { return has("f16c") || triple.starts_with("aarch64"); }
  /// An instruction that rounds a float to an integer of the same type.
  bool has_rounding() const { return has("sse4.1") || has("avx") || triple.starts_with("aarch64"); }
  /// The class whose features the target has, and by whose figures loops are scheduled.
  const Machine &machine() const;
  uint32_t vector_bytes() const { return machine().vector_bytes; }
  uint32_t vector_registers() const { return machine().vector_registers; }
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
  uint64_t stream_bytes() const { return machine().stream_bytes; }
  uint32_t log2_work_per_thread() const { return grain.value_or(machine().log2_work_per_thread); }
  int64_t work_per_thread() const { return int64_t{1} << log2_work_per_thread(); }
  /// "+avx,+avx2,…"
  std::string feature_text() const;
};

/// Calls f(name, text) for every field and the class of machine; all of them enter the cache key.
template <class F>
void for_each_field(const Target &t, F &&f) {
  f("triple", t.triple);
  f("features", t.feature_text());
  f("machine", std::string(t.machine().name));
  f("log2_work_per_thread", std::to_string(t.log2_work_per_thread()));
}

/// The target of a class of machines, by its name: "avx512", "avx2", "generic", "baseline" or "neon". Code
/// can be compiled for it whether or not this processor runs it.
std::optional<Target> target_of_class(std::string_view name);

/// The class of the processor that runs us, read once: all processors of a class share compiled code.
const Target &host_target();

/// Whether a processor with the features of `host` runs code for a target.
bool runs_on(const Target &target, const Target &host);

struct NamedTarget {
  Target target;
  std::string error;  ///< empty, or what is wrong with the name
};

/// A target that `host` runs, by its name: "host" or a class that code is compiled for on request, "avx512",
/// "avx2" or "generic". "" is "host". Behind the name ",grain=N" says that 2^N operations are worth a thread.
NamedTarget parse_target(std::string_view name, const Target &host);

/// What kernels are compiled for: KW_TARGET, read once; with an error the host itself.
const NamedTarget &kernel_target();

}  // namespace kw
