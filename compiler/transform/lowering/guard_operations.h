// Rewrites integer division, remainders, shifts and conversions of vectors to operations that machines have.
// Guards give these the meaning of ir/scalar_ops for all operands.
//     a // b   →   select(b == 0, 0, select(b == -1, neg(a), floored quotient(a, select(b is safe, b, 1))))
//     a << n   →   select(n < width, shift_left(a, n), 0)
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func guard_operations(const Func &f, const Target &target);

/// Guards an expression outside vector loops, or a statement, that belongs to no function yet.
Expr guard_operations(const Expr &e);
Stmt guard_operations(const Stmt &s, const Target &target);

}  // namespace kw
