// The passes that lower a scheduled function to the operations of machines, in the order of the table in
// codegen/backend.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// Moves what depends on values of a device into the launches: the host of a GPU cannot read these values
/// (analysis/gpu/launch_form). A value that several launches use becomes a cell.
///     x = a[0]; for i in grid(0, n): c[i] = x         →   x[()] = a[0]; for i in grid(0, n): c[i] = x[()]
///     if a[0] > 1: for i in grid(0, n): c[i] = 2      →   runs[()] = a[0] > 1; for i in grid(0, n): if
///     runs[()]: c[i] = 2
Func form_launches(const Func &f, const Target &);

/// Lowers sums and products in the order `lanes` (language.md 3) to explicit code over 64 accumulators L:
///     s[x] += t @ lanes   in its band   →   if n < 64: s[x] += t   else: L[k % 64] += t
/// k is the iteration number in the band, n the trip count. Every 4,096 iterations L folds 32, 16, … 1 into a
/// block sum, and block sums fold pairwise. s[x] += total follows the band if any iteration added a term. A
/// vectorized band runs in blocks of rows (blocked_reduction), any other one-loop band in a loop of blocks.
/// In longer bands k determines where blocks end. Back ends that execute the marks do not need this.
Func lower_reductions(const Func &f, const Target &target);

/// Rewrites float16 and bfloat16 to 16-bit words around float32 arithmetic, rounded after every operation:
///     c[i] = a[i] + b[i]   →   c[i] = narrow(widen(a[i]) + widen(b[i]))      with c, a, b of u16
/// widen and narrow are integer operations, or casts between f16 and f32 if the target has them. All give the
/// bits of ir/scalar_ops, NaNs and subnormals included. bfloat16 has no native form: the existing
/// instructions flush subnormals. Runs near the end of a back end; the interpreter does not need it.
Func legalise_types(const Func &f, const Target &target);

/// Writes the largest trip count that the bounds of a loop allow into its plan, for code generation. A short
/// loop does not poll the cancel flag, and a vector loop of one vector needs no loop at all.
///     for j in serial(b, min(n, b + 64), 1)   →   for j in serial(b, min(n, b + 64), 1, max_trips=64)
Func bound_trips(const Func &f, const Target &);

/// Checks vector loops once more. A loop that code generation cannot vectorize becomes a serial loop, which
/// means the same, and the function gets the warning W410. Under verify=each that is an internal error.
///     for i in vector(0, n, 1, vector_width=8): check(…)   →   for i in serial(0, n, 1): check(…)
Func settle_vector_loops(const Func &f, const Target &);

/// Counts how many threads the work of each outermost parallel loop is worth, as an expression before the
/// loop.
///     parallel(0, n, 1)   →   parallel(0, n, 1, most_threads=max(n * 3 >> 19, 1))
Func count_threads(const Func &f, const Target &target);

/// Marks the scalars of recurrences of integer minima and maxima (edit distances, shortest paths). They are
/// kept in vector registers, where a minimum is one instruction. In general registers it is a comparison and
/// a conditional move, one after the other on the critical path.
///     best = alloc(i32, (), 'registers')   →   best = alloc(i32, (), 'registers', in_vector=1)
Func mark_recurrences(const Func &f, const Target &target);

/// Unrolls innermost serial loops with short bodies, so that one branch of the loop serves several
/// iterations. The remainder stays a loop.
///     serial(0, n, 1)   →   serial(0, n, 1, unroll=4)
Func unroll_inner_loops(const Func &f, const Target &);

/// Rewrites integer division, remainders, shifts and conversions of vectors to operations that machines have.
/// Guards give these the meaning of ir/scalar_ops for all operands.
///     a // b   →   select(b == 0, 0, select(b == -1, neg(a), floored quotient(a, select(b is safe, b, 1))))
///     a << n   →   select(n < width, shift_left(a, n), 0)
Func guard_operations(const Func &f, const Target &target);

/// Guards an expression outside vector loops, or a statement, that belongs to no function yet.
Expr guard_operations(const Expr &e);
Stmt guard_operations(const Stmt &s, const Target &target);

}  // namespace kw
