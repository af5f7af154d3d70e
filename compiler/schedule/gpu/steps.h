// The steps of a schedule for GPUs, in the order of the table in schedule/choose_gpu. Each step applies
// directives to a nest.
#pragma once

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw {

/// Moves loops whose iterations may run in any order outwards, so that they can be launched together.
///     for i: for j: s[j] += x[i, j]   →   for j: for i: s[j] += x[i, j]
void order_loops(LoopNest &nest, const Target &target);

/// Computes reductions that nothing runs beside in parts.
///     for i: s += x[i]   →   for b in grid: for k in block: part += x[k];  … s += parts[0]
void rfactor_sums(LoopNest &nest, const Target &target);

/// Accumulates in parts what loops use as they accumulate, if the order of the accumulations does not show.
///     for i: s += x[i]; y[i] = s   →   for b in grid: parts[b] = …  for b: …  for b in grid: … y[i] = own
void scan_loops(LoopNest &nest, const Target &target);

/// Gives blocks of threads copies of the arrays in which they accumulate.
///     for i: h[x[i]] += 1   →   if h_0 <= 8192: for b in grid: own[…] = 0; … h[s] += own[s]  else: …
void privatize_bins(LoopNest &nest, const Target &target);

/// Lets nests write the zeros around what they compute of an output.
///     for i in (1, n - 1): y[i] = v   →   for i in (0, n): if 1 <= i < n - 1: y[i] = v  else: y[i] = 0
void fold_fills(LoopNest &nest, const Target &target);

/// Launches loops whose iterations may run in any order: the outermost such loop on each path, with the loops
/// that are all of it, up to three. Loops around them run on the host. Threads of a warp share loops in them
/// that access memory in order. What remains runs in one thread, or in one warp.
///     for i: for j: c[i, j] = …   →   for i in grid: for j in grid(per_block=128): c[i, j] = …
///     for i: h[x[i]] += 1         →   for i in grid(per_block=256, atomics=(h,)): h[x[i]] += 1
void map_grids(LoopNest &nest, const Target &target);

/// Keeps rows that teams write and read again in memory that they share.
///     for j in block: y[i, j] = …  for j in block: y[i, j] = y[i, j] / s   →   row[j] = …  y[i, j] = row[j]
///     / s
void cache_rows(LoopNest &nest, const Target &target);

/// Lets one team copy what a loop that runs in its order goes through.
///     for j: s += x[j]; y[j] = s   →   for j0: for k in block: x_part[k] = …; for j in (1024 j0, …): …
void stage_chains(LoopNest &nest, const Target &target);

/// Unrolls sums of a thread, so that it waits for several loads at once.
///     for j in grid: for i: s += x[i, j]   →   for j in grid: for i in unroll(unroll=8): s += x[i, j]
void unroll_loads(LoopNest &nest, const Target &target);

}  // namespace kw
