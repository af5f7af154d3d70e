// Emits loops of the kind parallel. The body becomes a function over one chunk of the iterations, which the
// caller's pool runs on its threads. Values of the enclosing function go through a frame on the stack.
// Parallel loops inside another one run serially. If a collapsed outer loop has too few iterations for the
// threads, its inner loop is cut too. A chunk then runs a sub-range of one outer iteration.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

class RegionEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  /// Emits chunks for the threads that the work is worth; one thread alone runs all iterations as one chunk.
  void emit(const For &n, V lo, V trips);
  /// Emits a parallel loop inside a chunk: as one loop even if it is written in blocks, or as the chunk's
  /// sub-range.
  void loop_in_chunk(const For &n, V lo);

 private:
  class Frame;
  struct Region;

  V wanted_chunks(const For &n, V threads);
  V cut_inner(const Region &r, V frame, V wanted);
  void leave(const Region &r, V frame);
  void capture(Region &r);
  llvm::Function *chunk_function(const Region &r);
  void emit_chunk(const Region &r, const EmitContext &outside);
  void receive(const Region &r, V frame, const EmitContext &outside);
  V load_env(llvm::Type *t, uint64_t offset);
};

}  // namespace kw
