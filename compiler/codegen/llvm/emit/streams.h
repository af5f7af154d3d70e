// Emits non-temporal stores to outputs that the function only writes, in calls larger than the caches, for
// rows that begin at a cache line. Cache lines that are written whole need not be read first. Also emits
// prefetches that the hardware does not make. Changes no value.
#pragma once

#include "codegen/llvm/emit/emitter.h"
#include "ir/limits.h"

namespace kw {

class StreamEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  /// If a loop streams, finds the write-only outputs, and emits the test whether all arrays together are
  /// large.
  void find();
  /// Returns whether every row that the loop stores to write-only outputs begins at a cache line.
  V begins_at_lines(const For &n, V lo);
  void store(V value, V at, uint64_t alignment = cache_line);
  /// Prefetches `bytes` that are read `distance` bytes later.
  void read_ahead(V at, uint64_t distance, uint64_t bytes);
  void read_page_ahead(V at, uint64_t bytes);
  /// Fences the stores at the end of the function.
  void end();
};

}  // namespace kw
