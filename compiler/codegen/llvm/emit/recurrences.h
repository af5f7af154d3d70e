// Emits recurrences of integer minima and maxima (edit distances, shortest paths). Their cells are kept in
// lane 0 of a vector register, where a minimum is one instruction. In general registers a minimum is a
// comparison and a conditional move, one after the other on the critical path.
#pragma once

#include "codegen/llvm/emit/emitter.h"

namespace kw {

class RecurrenceEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  /// Returns the value in lane 0 of a register; the other lanes have no meaning.
  V value(const Expr &e);
  /// Emits the value of a Let, as a vector for the cell and as a scalar for other statements.
  void let(const Let &n);

 private:
  bool comes_from_recurrence(const Expr &e) const;
  V in_first_lane(V v);
};

}  // namespace kw
