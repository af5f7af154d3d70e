// Defines every scalar operation: wrapping, division, shifts, rounding, comparison and conversion. Folding
// and the interpreter call it, and both emitters are tested against it; there is no second definition.
#pragma once

#include <cstdint>

#include "ir/node.h"

namespace kw {

/// A scalar: its bits are the low bits of a word, the rest is zero. A bool is 0 or 1.
struct Value {
  DType dtype = DType::i64;
  uint64_t bits = 0;
  friend bool operator==(const Value &, const Value &) = default;
};

Value from_int(DType t, int64_t v);    ///< wraps to the width of an integer type; converts for float types
Value from_double(DType t, double v);  ///< rounds once to nearest even; t is a float type
Value from_float(float v);
int64_t to_int(const Value &v);    ///< sign- or zero-extended; v is an integer or bool
double to_double(const Value &v);  ///< exact for floats, nearest for 64-bit integers
float to_float(const Value &v);    ///< v is f32

/// Applies a unary operation: neg and bit_not wrap; neg flips the sign of floats; logical_not is for bool.
Value apply(UnOp op, const Value &a);
/// Applies an operation to operands of equal dtype. Integer division by zero gives 0, MIN / -1 wraps to MIN
/// with remainder 0. Shift counts outside the width give 0 (or the sign for signed shr). Float floor_div and
/// floor_mod are NumPy's divmod; min and max propagate NaN and order -0 < +0.
Value apply(BinOp op, const Value &a, const Value &b);
/// Converts a value: int → int wraps; float → int truncates, saturates and maps NaN to 0; anything → bool is
/// `!= 0`; to float rounds once.
Value convert(DType to, const Value &a);

}  // namespace kw
