// Evaluates entry programs: output shapes, facts, workspace and work of one call. Total for every byte
// string: malformed code is an error value, never a fault.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/entry_program.h"

namespace kw {

/// What the program says of one call; the other fields mean nothing after an error.
struct EntryResult {
  enum class Error : uint8_t { none, overflow, negative_extent, workspace, malformed };
  Error error = Error::none;
  size_t error_index = 0;        ///< of overflow and negative_extent: which output extent
  int64_t error_value = 0;       ///< the extent
  std::vector<int64_t> extents;  ///< of all outputs, one after the other
  bool facts_hold = true;        ///< the optimised body may run
  int64_t workspace = 0;         ///< bytes
  int64_t work = 0;              ///< scalar operations; INT64_MAX when it overflows
  bool reads_scalars = false;    ///< else all of this follows from the extents and strides
};

/// Runs the program on the extents and strides (`dims`) and the scalar arguments of a call.
EntryResult evaluate_entry(const EntryProgram &p, const int64_t *dims, size_t dim_count,
                           const uint64_t *scalars, size_t scalar_count);

}  // namespace kw
