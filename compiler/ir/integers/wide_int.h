// Computes with Python's ints for constant folding in 128 bits, which hold every sum, difference and quotient
// of two 64-bit words. Operations that may exceed 128 bits report it. Knows nothing of expressions and their
// types.
#pragma once

#include <optional>

#include "ir/scalar_ops.h"

namespace kw {

__extension__ typedef __int128 WideInt;

/// Returns the number that an integer or bool stands for.
WideInt wide_value(const Value &v);
/// Returns the number as int64, or as uint64 if only that holds it; nothing if it exceeds both.
std::optional<Value> narrowed(WideInt v);

/// These return nothing if 128 bits cannot hold the result; shift counts and exponents are not negative.
std::optional<WideInt> wide_product(WideInt a, WideInt b);
std::optional<WideInt> wide_power(WideInt base, WideInt exponent);
std::optional<WideInt> wide_shl(WideInt a, WideInt count);
WideInt wide_shr(WideInt a, WideInt count);
/// Divides and rounds down, as Python does; b is not 0.
WideInt wide_floor_div(WideInt a, WideInt b);
/// Returns a / b rounded once, for numbers that 64 bits hold; b is not 0.
double wide_quotient(WideInt a, WideInt b);

}  // namespace kw
