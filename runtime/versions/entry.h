// Evaluates entry programs: output shapes, facts, workspace and work of one call. Total for every byte
// string: malformed code is an error value, never a fault. Needs no library, neither C's nor C++'s, because
// exported kernels contain it (runtime/exported).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "codegen/entry_program.h"
#include "ir/signature.h"

namespace kw {

/// The results of the program for one call; after an error the other fields have no meaning.
struct EntryResult {
  enum class Error : uint8_t { none, overflow, negative_extent, workspace, malformed };
  Error error = Error::none;
  size_t error_index = 0;      ///< for overflow and negative_extent: index of the output extent
  int64_t error_value = 0;     ///< value of the extent
  bool facts_hold = true;      ///< the optimized body may run
  int64_t workspace = 0;       ///< bytes
  int64_t work = 0;            ///< scalar operations; INT64_MAX on overflow
  bool reads_scalars = false;  ///< if false, all results follow from the extents and strides
  size_t extent_count = 0;
  std::array<int64_t, max_outputs * max_rank> extent_values;  ///< the first extent_count are set

  /// Returns the extents of all outputs, concatenated.
  std::span<const int64_t> extents() const { return {extent_values.data(), extent_count}; }
};

/// Runs the program on the extents and strides (`dims`) and the scalar arguments of a call.
EntryResult evaluate_entry(std::string_view code, const int64_t *dims, size_t dim_count,
                           const uint64_t *scalars, size_t scalar_count);
inline EntryResult evaluate_entry(const EntryProgram &p, const int64_t *dims, size_t dim_count,
                                  const uint64_t *scalars, size_t scalar_count) {
  return evaluate_entry(p.code, dims, dim_count, scalars, scalar_count);
}

}  // namespace kw
