// Emits loops of the kind vector: `vector_width` iterations at once, in chunks. The remainder runs in
// overlapped or masked chunks of one register, or one by one. Each loop has a vector form
// (transform/lowering/settle_vector_loops).
#pragma once

#include "analysis/vector/vectorization.h"
#include "codegen/llvm/emit/emitter.h"
#include "codegen/llvm/emit/reductions.h"

namespace kw {

class VectorLoopEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  bool runs_in_vectors(const For &n) const { return !cx_.vector && n.kind == ForKind::vector; }
  /// Emits the loop, and a version for assumed row lengths, which give its loads a constant stride.
  void emit(const For &n, VectorizationAnalysis &view, V lo, V trips);

 private:
  void vector_loop(const For &n, VectorizationAnalysis &view, V lo, V trips);
  void row(const For &n, VectorizationAnalysis &view, V lo, V trips);
  void numbered_loop(const For &n, VectorizationAnalysis &view, V lo, V trips);
  void vector_body(const For &n, VectorizationAnalysis &view, V lo, V k, uint32_t count,
                   const ReductionCells &outer, V mask = nullptr, V rest = nullptr);
  uint32_t rest_width(const VectorizationAnalysis &view, uint32_t width) const;
  void remainder(const For &n, VectorizationAnalysis &view, V lo, V trips, ReductionCells &outer);
  V row_mask(V lo, V hi, uint32_t count);
};

}  // namespace kw
