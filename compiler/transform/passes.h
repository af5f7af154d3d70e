// The passes that every kernel takes before it is scheduled, in the order of the tables in driver/pipeline,
// and split_fma, which back ends run after.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// Names the bounds of loops that write memory that their bounds read. A loop evaluates its bounds once, and
/// passes may copy a bound into the loop's body only if its value is unchanged there.
///     for i in serial(0, c[0], 1):   →   bound: i64 = c[0]
///       c[i] = 0                         for i in serial(0, bound, 1):
///                                          c[i] = 0
Func fix_bounds(const Func &f, const Target &target);

/// Gives each iteration its own copy of a local that carries no value between iterations. The front end gives
/// a name one cell around all loops that use it. If a loop writes the cell before it reads it, and no read
/// follows the loop, the cell moves into the loop: into the innermost loop that carries none of its values to
/// a later iteration or out of the loop. A moved cell that is stored once, before all its reads, becomes a
/// Let. So the reuse of a name decides neither the order of a sum nor whether a loop can be parallelized.
///     t = alloc(f32, ())                     for i in serial(0, n, 1):
///     for i in serial(0, n, 1):          →     t: f32 = a[i]
///       t[()] = a[i]; c[i] = t[()]             c[i] = t
Func sink_declarations(const Func &f, const Target &target);

/// Sets Store::order of every accumulation, with its band (analysis/nest/sum_order): `source` in strict mode;
/// `lanes` where the rule of language.md 3 holds in default and fast mode; `any` for the rest in fast mode.
/// If arguments may overlap, a sum into an argument keeps source order when its loops access another
/// argument: its terms may be partial sums. Later passes leave the order of a store as it is.
///     s[()] = s[()] + a[i]   →   s[()] = s[()] + a[i] @ lanes(i)
Func mark_orders(const Func &f, const Target &target);

/// Removes mutable scalars that are never read, with the stores to them.
///     t = alloc(f64, (), 'registers')
///     t[()] = 0.0                        →   (nothing)
/// Constants are folded when nodes are built (ir/build), not here.
Func simplify(const Func &f, const Target &target);

/// Fuses products into sums by the rule of language.md 3, in default and fast mode and on targets that have
/// fma. No pass but this and split_fma changes roundings.
///     c[i] = a[i] * b[i] + d[i]   →   c[i] = fma(a[i], b[i], d[i])
/// The product must be used once, in the same statement; of two products the left one is fused. Runs first,
/// on the source program.
Func fuse_fma(const Func &f, const Target &target);

/// In fast mode, splits an fma that waits for the previous iteration into a product, which does not wait, and
/// a sum. The sum has a lower latency (2 cycles instead of 4 on Golden Cove, 3 instead of 4 on Zen 3).
///     s = fma(a[i], b[i], s)   →   s = s + a[i] * b[i]
/// Only in serial loops with few such fma. Vectorized fma and products that wait themselves stay fused.
Func split_fma(const Func &f, const Target &target);

/// Decides which buffers start as zero: those that are not proved written before every read and, for outputs,
/// before the return.
///     c = alloc(f32, (n,), 'heap', fill='zero')   →   c = alloc(f32, (n,), 'heap')
/// Issues no warnings; analysis/init does.
Func fill_buffers(const Func &f, const Target &target);

// Four passes make every access safe. An index that is proved in bounds stays. If an index is in bounds under
// a condition on extents, the condition becomes a fact of the function. Any other index is checked before the
// access:
//     c[i] = a[idx[i]]   →   check(cast(u64, idx[i]) < cast(u64, a_0), site=0)
//                            c[i] = a[idx[i]]
// None of them hoists checks out of loops.

/// Makes the optimized body, with facts where possible. Assumes extents of at least 1 (the first facts say
/// so).
Func guard_bounds(const Func &f, const Target &target);
/// Makes the plain body: assumes nothing, and checks what the loops alone do not prove.
Func guard_bounds_without_facts(const Func &f, const Target &target);
/// Likewise for `unchecked=True`: does not check a subscript that is read from memory, or whose loop has
/// bounds read from memory.
Func guard_bounds_but_data(const Func &f, const Target &target);
Func guard_bounds_without_facts_but_data(const Func &f, const Target &target);

/// Makes the body for `debug=True`: checks every access.
Func check_all_bounds(const Func &f, const Target &target);

/// Hoists checks out of loops, for CPUs, and for GPUs those of ordered scatters (hoist_checks.cpp). Runs
/// checks of index arrays before the kernel if these are arguments, never written, and the loops have fixed
/// bounds:
///     for i: check(idx[i] < m); y[i] = x[idx[i]]
///       →   for b: for k in vector: bad |= …;  if bad < 0: for k: check(idx[b + k] < m)
///           for i: y[i] = x[idx[i]]
/// Does not hoist a check past a jump or a guard that may skip it. A guard on scalars and sizes of the call
/// is the exception: it moves with the check. Moves any other check at the start of a loop's body in front of
/// the loop if it is invariant. If its subscript steps by 1, checks the first and the last value instead.
/// Assumes extents of at least 1.
Func hoist_checks(const Func &f, const Target &target);

/// Demotes 32-bit integer arithmetic to 16 bits if all values fit, as those computed from bytes do. A vector
/// register then holds twice as many.
///     cast(u8, min(cast(i32, a[i]) + cast(i32, b[i]), 255))
///         →   cast(u8, min(cast(i16, a[i]) + cast(i16, b[i]), 255))
/// Runs after the last pass that reads conditions. Changes no value.
Func demote_integers(const Func &f, const Target &target);

/// For debug=True: ends the kernel (E310) if an element is read before it is written. Each buffer for which
/// analysis/init cannot exclude that gets a shadow with one flag per element:
///     c[i] = c[i] + a[i]   →   check((-1 if c_1[i] else i) < 0, site=0)
///                              c[i] = c[i] + a[i]
///                              c_1[i] = True
/// Adds no bounds checks: check_all_bounds runs before it.
Func track_writes(const Func &f, const Target &target);

}  // namespace kw
