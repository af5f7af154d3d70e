// Converts 16-bit floats, held as u16 words, by operations that every target has. Part of legalise_types;
// knows nothing about statements.
#pragma once

#include "ir/node.h"
#include "support/target.h"

namespace kw {

class HalfFloats {
 public:
  explicit HalfFloats(const Target &target)
      : has_half_(target.has_half()), has_bfloat_(target.has_bfloat()) {}

  /// Converts a word of f16 or bf16 to f32, exactly.
  Expr widen(DType from, const Expr &word) const;
  /// Rounds an f32 once to a word of f16 or bf16, ties to even. NaNs stay quiet NaNs with their leading bits.
  Expr narrow(DType to, const Expr &x) const;
  /// Returns the cast of `a` between two dtypes of which one is a 16-bit float; `otherwise` if neither is.
  Expr convert(DType from, DType to, const Expr &a, const Expr &otherwise) const;

 private:
  Expr from_integer(DType from, DType to, const Expr &a) const;

  bool has_half_, has_bfloat_;  ///< instructions of the target
};

}  // namespace kw
