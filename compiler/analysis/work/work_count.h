// Counts what one call of a kernel computes and moves, for reports of speed: floating-point operations, and
// the bytes of the elements that it reads and writes, each counted once. Counts the source program, for given
// sizes; nothing that is compiled depends on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ir/func.h"

namespace kw {

struct WorkCount {
  /// Additions, multiplications, divisions, minima, maxima and functions on float64, and on narrower floats.
  /// A multiply-add counts twice. Comparisons, signs and conversions count nothing.
  double float64 = 0, float32 = 0;
  /// Assignments: what an interpreter of the source takes time for.
  double statements = 0;
  /// Bytes of arguments that are read, and of arguments and outputs that are written: of the smallest box of
  /// elements that holds all accesses, and of outputs that are zeroed. Temporaries count nothing.
  double bytes_read = 0, bytes_written = 0;
  /// Why operations and statements are not known: loops that run as often as the data say; "" if they are.
  std::string unknown_operations;
  /// Why a count may be too high: branches, subscripts or loops that depend on the data, or accesses with
  /// gaps; "" if it is exact.
  std::string at_most_operations, at_most_bytes;
};

/// Counts for the extents and strides (`dims`) and the scalars of a call, in the order of the ABI. Of a loop
/// with many iterations whose work depends on the iteration, it counts evenly spaced ones and scales.
WorkCount count_work(const Func &f, std::span<const int64_t> dims, std::span<const uint64_t> scalars);

}  // namespace kw
