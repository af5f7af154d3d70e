// Loops of the kind parallel: the body becomes a function over one chunk of the iterations, which the
// caller's pool runs on its threads. What the body uses of the function around it goes through a frame on the
// stack. Parallel loops inside another one run as serial ones; where the outer one has fewer iterations than
// there are threads, the one directly in it is cut too, and chunks run a sub-range of one outer iteration.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

class RegionEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  /// Chunks on the threads that the work is worth; one thread alone runs all iterations as one chunk.
  void emit(const For &n, V lo, V trips);
  /// A parallel loop inside a chunk: one loop, also where it stands as blocks, or its sub-range of one.
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
