// Evaluates entry programs: output shapes, facts, workspace and work of one call. Total for every byte
// string: malformed code is an error value, never a fault.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/entry_program.h"

namespace kw {

struct EntryResult {
  enum class Error : uint8_t { none, overflow, negative_extent, malformed };
  Error error = Error::none;
  size_t error_index = 0;  ///< which output extent
  int64_t error_value = 0;
  std::vector<int64_t> extents;
  bool facts_hold = true;
  int64_t workspace = 0;
  int64_t work = 0;  ///< scalar operations; INT64_MAX when it overflows
};

EntryResult evaluate_entry(const EntryProgram &p, const int64_t *dims, size_t dim_count,
                           const uint64_t *scalars, size_t scalar_count);

}  // namespace kw
