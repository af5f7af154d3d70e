// Recurrences of minima and maxima of integers (edit distances, shortest paths): their cells are kept in lane
// 0 of a vector register, where a minimum is one instruction. In general registers it is a comparison and a
// conditional move, one after the other on the critical path.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

class RecurrenceEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  /// The value in lane 0 of a register; the other lanes have no meaning.
  V value(const Expr &e);
  /// Emits the value of a Let: other statements may read it as a scalar, and the cell as a vector.
  void let(const Let &n);

 private:
  bool comes_from_recurrence(const Expr &e) const;
  V in_first_lane(V v);
};

}  // namespace kw
