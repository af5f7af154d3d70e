// Evaluates entry programs: output shapes, facts, workspace and work of one call. Total for every byte
// string: malformed code is an error value, never a fault.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/entry_program.h"

namespace kw {

/// The results of the program for one call; after an error the other fields have no meaning.
struct EntryResult {
  enum class Error : uint8_t { none, overflow, negative_extent, workspace, malformed };
  Error error = Error::none;
  size_t error_index = 0;        ///< for overflow and negative_extent: index of the output extent
  int64_t error_value = 0;       ///< value of the extent
  std::vector<int64_t> extents;  ///< extents of all outputs, concatenated
  bool facts_hold = true;        ///< the optimized body may run
  int64_t workspace = 0;         ///< bytes
  int64_t work = 0;              ///< scalar operations; INT64_MAX on overflow
  bool reads_scalars = false;    ///< if false, all results follow from the extents and strides
};

/// Runs the program on the extents and strides (`dims`) and the scalar arguments of a call.
EntryResult evaluate_entry(const EntryProgram &p, const int64_t *dims, size_t dim_count,
                           const uint64_t *scalars, size_t scalar_count);

}  // namespace kw
