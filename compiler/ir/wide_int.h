// Integers of Python's kind for constant folding: computed in 128 bits, which hold every sum, difference and
// quotient of two words of 64 bits; what may take more says so. Knows nothing of expressions and their types.
#pragma once

#include <optional>

#include "ir/scalar_ops.h"

namespace kw {

__extension__ typedef __int128 WideInt;

/// The number that an integer or bool stands for.
WideInt wide_value(const Value &v);
/// The number as int64, or as uint64 where only that holds it; nothing when it exceeds both.
std::optional<Value> narrowed(WideInt v);

/// These give nothing for what 128 bits do not hold; shift counts and exponents are not negative.
std::optional<WideInt> wide_product(WideInt a, WideInt b);
std::optional<WideInt> wide_power(WideInt base, WideInt exponent);
std::optional<WideInt> wide_shl(WideInt a, WideInt count);
WideInt wide_shr(WideInt a, WideInt count);
/// Rounds down, as Python does; b is not 0.
WideInt wide_floor_div(WideInt a, WideInt b);
/// a / b rounded once, of numbers that 64 bits hold; b is not 0.
double wide_quotient(WideInt a, WideInt b);

}  // namespace kw
