// Describes what code is generated for: a CPU by triple, features and the class of machine that these make,
// or a GPU by its architecture. Passes ask for capabilities, never for a product name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/machine.h"

namespace kw {

enum class TargetKind : uint8_t { cpu, cuda };

struct Target {
  std::string triple;                 ///< e.g. "x86_64-unknown-linux-gnu"; objects are ELF on every system
  std::vector<std::string> features;  ///< LLVM names, sorted, without '+'; of GPUs the names below
  /// Overrides the class's Machine::log2_work_per_thread.
  std::optional<uint32_t> grain{};
  std::string arch{};  ///< of a GPU, e.g. "sm_90" or "sm_90a"; "" for CPUs

  TargetKind kind() const { return arch.empty() ? TargetKind::cpu : TargetKind::cuda; }
  bool is_gpu() const { return kind() == TargetKind::cuda; }
  bool has(std::string_view feature) const;
  bool has_fma() const { return has("fma") || triple.starts_with("aarch64"); }
  /// Returns whether instructions convert between binary16 and float32.
  bool has_half() const { return has("f16c") || has("half") || triple.starts_with("aarch64"); }
  /// Returns whether an instruction rounds float32 to bfloat16.
  bool has_bfloat() const { return has("bf16"); }
  /// Returns whether an instruction rounds a float to an integer of the same type.
  bool has_rounding() const {
    return has("sse4.1") || has("avx") || is_gpu() || triple.starts_with("aarch64");
  }
  /// Returns the architecture of a GPU.
  const GpuMachine &gpu() const;
  /// Returns the name of the class of machine or of the GPU's architecture; target_of_class takes it.
  std::string class_name() const;
  /// Returns the class whose features a CPU has; its figures guide the scheduling of loops.
  const Machine &machine() const;
  uint32_t vector_bytes() const { return machine().vector_bytes; }
  uint32_t vector_registers() const { return machine().vector_registers; }
  /// Returns whether masked loads and stores of elements of at least `bits` cost as much as whole ones.
  bool has_masks(uint32_t bits) const {
    return bits >= 32 ? has("avx512f") || has("avx") : has("avx512f") && has("avx512bw");
  }
  /// Returns whether a few instructions give any order of the elements of two registers, for elements of at
  /// least `bits`.
  bool has_shuffles(uint32_t bits) const {
    return bits >= 32 || has("avx2") || triple.starts_with("aarch64");
  }
  /// Returns whether gathers and scatters are single instructions.
  bool has_gather() const { return has("avx512f"); }
  /// Returns whether there are mask registers, with one bit per lane.
  bool has_mask_registers() const { return has("avx512f"); }
  /// Returns whether instructions convert vectors between floats and 64-bit integers.
  bool has_vector_i64_conversions() const { return has("avx512dq"); }
  /// Returns whether an instruction computes the minimum of int32 vectors.
  bool has_vector_i32_minimum() const { return has("sse4.1"); }
  /// Returns whether an instruction computes `a < b ? a : b` on vectors of floats of `bits`.
  bool has_select_minimum(uint32_t bits) const { return triple.starts_with("x86_64") && bits >= 32; }
  /// Returns whether long bodies read vector constants from memory at less cost than they broadcast a scalar
  /// in each iteration. 16 registers are few, and no operand of AVX2 broadcasts as AVX-512's do.
  bool prefers_constants_in_memory() const { return has("avx2") && !has("avx512f"); }
  /// Returns whether an instruction multiplies floats by powers of two, also if the result is subnormal.
  bool has_scale() const { return has("avx512f"); }
  uint64_t stream_bytes() const { return machine().stream_bytes; }
  uint32_t log2_work_per_thread() const { return grain.value_or(machine().log2_work_per_thread); }
  int64_t work_per_thread() const { return int64_t{1} << log2_work_per_thread(); }
  /// Returns the features as LLVM takes them: "+avx,+avx2,…".
  std::string feature_text() const;
};

/// Calls f(name, text) for every field and the class of machine; all of them enter the cache key.
template <class F>
void for_each_field(const Target &t, F &&f) {
  f("triple", t.triple);
  f("features", t.feature_text());
  f("machine", t.class_name());
  if (!t.is_gpu()) f("log2_work_per_thread", std::to_string(t.log2_work_per_thread()));
}

/// Returns the target of a class of machines, by its name: "avx512", "avx2", "generic", "baseline" or "neon",
/// or of an architecture of GPUs: "sm_90". Code can be compiled for it whether or not this machine runs it.
std::optional<Target> target_of_class(std::string_view name);

/// Returns the class of the processor that runs us, read once: all processors of a class share compiled code.
const Target &host_target();

/// Returns whether a processor with the features of `host` runs code for `target`.
bool runs_on(const Target &target, const Target &host);

struct NamedTarget {
  Target target;
  std::string error;  ///< empty, or the error in the name
};

/// Parses the name of a target that `host` runs: "host", or a class that can be requested, "avx512", "avx2"
/// or "generic". "" is "host". A suffix ",grain=N" says that 2^N operations are worth a thread.
NamedTarget parse_target(std::string_view name, const Target &host);

/// Returns the target of kernels: KW_TARGET, read once; if that is malformed, the host and an error.
const NamedTarget &kernel_target();

}  // namespace kw
