// Non-temporal stores, past the caches, of results that the function only writes, in calls that are larger
// than the caches, where rows begin at a cache line: lines that are written whole need not be read first. And
// prefetches that the hardware does not do. Changes no value.
#pragma once

#include "codegen/llvm/emit/emitter.h"
#include "ir/limits.h"

namespace kw {

class StreamEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  /// If a loop streams: finds the outputs that are only written, and whether all arrays together are large.
  void find();
  /// Whether every row that the loop stores begins at a line.
  V begins_at_lines(const For &n, V lo);
  void store(V value, V at, uint64_t alignment = cache_line);
  /// Prefetches `bytes` that are read `distance` bytes later.
  void read_ahead(V at, uint64_t distance, uint64_t bytes);
  void read_page_ahead(V at, uint64_t bytes);
  /// Fences the stores at the end of the function.
  void end();
};

}  // namespace kw
