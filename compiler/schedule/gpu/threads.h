// Launches loops whose iterations threads of a GPU execute alone, and chooses how many of them each thread
// executes: so many that it waits for several loads at once.
//     for i in grid: for j in grid(per_block=512, vector_width=4): c[i, j] = a[i, j] + b[j]
//     for i0 in grid: for j in grid(per_block=128): for i in unroll: c[i, j] = a[i - 1, j] + a[i + 1, j]
//     for i in grid(per_block=512, unroll=4): y[i] = x[2 * i]
#pragma once

#include <vector>

#include "schedule/directives/loop_nest.h"

namespace kw {

/// Returns whether a loop surely has too few iterations for the threads of a warp.
bool is_surely_small(const For &n);

/// Returns the loops of the copy that a directive has put before these loops: it has their numbers.
std::vector<Sym> copies_of(const std::vector<Sym> &loops, const LoopNest &before, const LoopNest &after);

/// Launches loops that stand in one another, given from the outermost one inwards: the innermost one in
/// blocks of `per_block` iterations, the others by one.
void launch_blocks(LoopNest &nest, const std::vector<Sym> &loops, int64_t per_block);

/// Launches loops that stand in one another with a thread for one or several of their iterations.
void launch_threads(LoopNest &nest, const std::vector<Sym> &loops);

}  // namespace kw
