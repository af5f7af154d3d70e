// Emits loads with a stride of two to four elements: contiguous vectors that contain all lanes, then
// shuffles. Reads nothing before the first or after the last element of an active lane. Loads of one group
// (analysis/vector/interleaved_loads) emit the same vectors, which LLVM merges as common subexpressions.
#pragma once

#include <unordered_map>

#include "codegen/llvm/emit/emitter.h"
#include "codegen/llvm/emit/vector.h"

namespace kw {

class InterleavedLoadEmitter : public Emitter {
 public:
  explicit InterleavedLoadEmitter(EmitContext &cx) : Emitter(cx), vec_(*cx.vector) {}

  V emit(const Load &n, const VectorPlace &own);

 private:
  /// Windows of `size` elements, one for each lane, with a stride of `step` elements. Memory is loaded in
  /// rows of `row` elements.
  struct Rows {
    V first;  ///< the element lowest in memory
    llvm::Type *element;
    int64_t step;
    uint32_t size, row;
    std::unordered_map<uint32_t, V> loaded{};
  };

  uint32_t extent_of(const Rows &rows) const;
  uint32_t begin_of_row(const Rows &rows, uint32_t number) const;
  V row_in_memory(Rows &rows, uint32_t number);
  V mask_of(const Rows &rows, uint32_t number);
  V lanes_from(Rows &rows, uint32_t element, uint32_t from);

  VectorState &vec_;
};

}  // namespace kw
