// The steps of a schedule for a CPU, in the order of the table in schedule/choose_cpu. Each step applies
// directives to a nest.
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

/// Strip-mines loops over columns whose inner loops reduce one column. The columns of a strip are reduced
/// together, row by row, so that memory is read in order. The scalar of each column becomes an element of a
/// small array. Loops whose data an outer loop could reuse stay as they are.
///     for j: s = 0; for i: s += x[i, j]; y[j] = s
///       →   for j0: for j: s[j] = 0; for i: for j: s[j] += x[i, j]; for j: y[j] = s[j]
void strip_mine_column_reductions(LoopNest &nest, const Target &target);

/// Distributes loops that hold sums in the order `lanes` beside sums in source order. The former are
/// vectorized in their own loop, the latter only in a loop around it. Each kind gets loops of its own over a
/// tile of iterations.
///     for i: s = 0; for k: s += … @ lanes(k); t = 0; for k: t += …; y[i] = s + t
///       →   for i0: for i: s[i] = 0      for i: for k: s[i] += … @ lanes(k)
///                   for i: t[i] = 0      for i: for k: t[i] += …, i vectorized     for i: y[i] = s[i] + t[i]
/// Does so only if that vectorizes more of the loops.
void separate_sums(LoopNest &nest, const Target &target);

/// Unrolls and jams the loop around a vector loop if the copies share loads, or if more independent sums keep
/// the arithmetic units busy. Examples are tiles of a product and rows of a stencil or of a column sum.
/// Neither permutes nor vectorizes loops.
///     for i: for j: c[i, j] -= c[i, k] * c[k, j]
///       →   for i0: for j: c[4 * i0, j] -= …; c[4 * i0 + 1, j] -= …; …
void unroll_and_jam(LoopNest &nest, const Target &target);

/// Chooses the loops to parallelize, from the outermost loops inwards, and the loops to vectorize, from
/// the innermost loops outwards.
///     for i in serial(0, m): for j in serial(0, n): …
///       →   for i in parallel(0, m): for j in vector(0, n, vector_width=64): …
void vectorize_and_parallelize(LoopNest &nest, const Target &target);

/// Returns whether a loop has too little work for two threads in every call.
bool is_surely_short(const For &loop, const Target &target);

/// Chooses how vector loops and parallel loops run, after their kinds are chosen. Sets tails, streams,
/// prefetches, register transposes, versions for assumed row lengths, flattened rows and collapsed loops.
void plan_loops(LoopNest &nest, const Target &target);

}  // namespace kw
