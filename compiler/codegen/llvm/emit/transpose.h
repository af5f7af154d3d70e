// Emits inner loops of a vector loop whose iterations are contiguous in memory
// (analysis/vector/register_transpose). Runs as many iterations as lanes at a time: elements are loaded and
// stored in rows, which are transposed in registers.
#pragma once

#include "codegen/llvm/emit/emitter.h"
#include "codegen/llvm/emit/vector.h"

namespace kw {

class TransposeEmitter : public Emitter {
 public:
  explicit TransposeEmitter(EmitContext &cx) : Emitter(cx), vec_(*cx.vector) {}

  /// Returns the blocks of an inner loop if all lanes or the first ones are active and a register holds as
  /// many elements; else nothing.
  std::optional<TransposedBlocks> blocks_in(const For &n);
  void emit(const For &n, const TransposedBlocks &view, V lo, V trips);

 private:
  void transpose_blocks(const For &n, const TransposedBlocks &view, V first, uint32_t beside);
  V row_of_block(const VectorPlace &place, llvm::Type *element, uint32_t lane);
  void read(const TransposedBlocks::Block &block, std::vector<V> &values);
  void write(const TransposedBlocks::Block &block, std::vector<V> values, bool may_stream);
  void write_rows(const TransposedBlocks::Block &block, const VectorPlace &place,
                  const std::vector<V> &values, bool past);
  V interleaved(V a, V b, uint32_t period, uint32_t unit, bool rest);
  V every_second(V a, V b, uint32_t unit, bool odd);
  std::vector<V> transposed(std::vector<V> rows);

  VectorState &vec_;
};

}  // namespace kw
