// The steps of a schedule that do not ask the target, in the order of the table in schedule/choose_cpu. Each
// step applies directives to a nest.
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

/// Distributes an innermost loop that holds sums in the order `lanes` beside sums in source order. Each kind
/// gets a loop of its own, since a source-order sum would serialize the vectors of the other.
void distribute_reductions(LoopNest &nest);

/// Splits the index set of a serial loop if all its dependences pass through one iteration. The iterations
/// before it, that iteration and the iterations after it become three loops. The first and the last can then
/// run in any order. Keeps the order of all iterations.
///     for j in range(n): d[j] = d[j] + d[k]
///       →   for j in range(k): …   for j in (k,): …   for j in range(k + 1, n): …
void split_index_sets(LoopNest &nest);

/// Returns whether a loop inside this one was split so that threads can share it. This loop must then stay
/// serial.
bool has_cut_inside(const For &loop);

/// Fuses adjacent loops over the same range that share memory. The second loop then finds data of the first
/// in registers or the L1 cache. Contracts temporary arrays to scalars if an iteration uses one element only.
///     for i: t[i] = a[i] * b[i]; for i: c[i] = t[i] + a[i]   →   for i: t = a[i] * b[i]; c[i] = t + a[i]
void fuse_loops(LoopNest &nest);

/// Unrolls loops of few constant iterations inside a loop with unit stride, such as the taps of a window. The
/// outer loop can then be vectorized without a loop inside. Bodies that would become long stay as they are.
///     for j: for q in range(3): s += w[q] * x[j + q]   →   for j: s += w[0] * x[j]; s += w[1] * x[j + 1]; …
void unroll_small_loops(LoopNest &nest);

/// Peels the first and last iterations of a loop if conditions, clamps or remainders treat them differently,
/// as at the borders of an image. The iterations between them then run without the test.
///     for j in range(w): if j >= 1: c[j] = a[j - 1]   →   for j in range(1, w): c[j] = a[j - 1]
/// Returns whether it peeled a loop.
bool peel_boundaries(LoopNest &nest);

/// Permutes the loops of a nest for memory: the loop with unit stride becomes innermost. First distributes a
/// body that has statements beside its loop. Keeps an outermost loop that threads can share, and loops that
/// the user wants in order.
///     for j: for i: y[i, j] = x[i, j]   →   for i: for j: y[i, j] = x[i, j]
void permute_loops(LoopNest &nest);

/// Tiles two loops if memory is read along one and written along the other. A tile covers many cache lines of
/// each row read, and one cache line of each row written. Elements that cannot be transposed in registers get
/// square tiles that fit the L1 cache. Chooses no vectorization.
///     for i: for j: c[i, j] = a[j, i]   →   tile i by 256, j by 16
///     for i: for j: c[j, i] = a[i, j]   →   reorder j i; tile j by 256, i by 16
void tile_transposed_accesses(LoopNest &nest);

/// Keeps values in registers that one iteration of an innermost loop stores and the next iteration loads
/// (schedule/tree/carried_values).
void scalar_replacement(LoopNest &nest);
/// Likewise all values of these loops.
void replace_carried_values(LoopNest &nest, const std::vector<Sym> &loops);

}  // namespace kw
