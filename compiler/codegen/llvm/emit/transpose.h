// Inner loops of a vector loop whose iterations lie side by side in memory
// (analysis/vector/register_transpose): as many of them as lanes at a time, whose elements are read and
// written as rows and transposed in registers.
#pragma once

#include "codegen/llvm/emit/emitter.h"
#include "codegen/llvm/emit/vector.h"

namespace kw {

class TransposeEmitter : public Emitter {
 public:
  explicit TransposeEmitter(EmitContext &cx) : Emitter(cx), vec_(*cx.vector) {}

  /// The blocks of an inner loop, where all lanes or the first ones are active and a register holds as many
  /// elements.
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
