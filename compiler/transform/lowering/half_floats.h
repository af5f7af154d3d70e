// Conversions of 16-bit floats, held as words of u16, in operations that every target has. Part of
// legalise_types; knows nothing of statements.
#pragma once

#include "ir/node.h"
#include "support/target.h"

namespace kw {

constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

class HalfFloats {
 public:
  explicit HalfFloats(const Target &target) : native_(target.has_half()) {}

  /// A word of f16 or bf16 as f32; exact.
  Expr widen(DType from, const Expr &word) const;
  /// An f32 rounded once to a word of f16 or bf16, ties to even; NaNs stay, quiet, with their leading bits.
  Expr narrow(DType to, const Expr &x) const;
  /// The cast of `a` from `from` to `to`, of which either may be a 16-bit float; `otherwise` when neither is.
  Expr convert(DType from, DType to, const Expr &a, const Expr &otherwise) const;

 private:
  Expr from_integer(DType from, DType to, const Expr &a) const;

  bool native_;
};

}  // namespace kw
