// The part of ir/scalar_ops for integers and bools. Needs no library, neither C's nor C++'s, because exported
// kernels contain it (runtime/exported).
#pragma once

#include "ir/scalar_ops.h"

namespace kw {

/// Returns whether `op` is defined on operands of type `t`, an integer type or bool.
bool is_integer_op(BinOp op, DType t);

/// Returns a word in which all bits of the type's values are set.
uint64_t mask_of(DType t);

/// Wraps to the width of an integer type; to bool, `v != 0`.
Value wrap_integer(DType t, int64_t v);

/// As `apply` and `convert` of ir/scalar_ops. All types are integer types or bool. An operation must be one
/// of is_integer_op; for others the result is 0.
Value apply_integer(UnOp op, const Value &a);
Value apply_integer(BinOp op, const Value &a, const Value &b);
Value convert_integer(DType to, const Value &a);

}  // namespace kw
