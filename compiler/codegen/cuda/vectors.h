// Emits several iterations of a grid or block loop for one thread. Those side by side load and store their
// elements at once where memory allows it, and one by one elsewhere:
//     if (aligned && j0 + 4 <= n) { a_4 = kw_ld(&a[j0]); for (u: 4) c_4.v[u] = a_4.v[u] + 1; kw_st(&c[j0],
//     c_4); }
// Those that are apart are written out where there are as many, so that all loads come first:
//     if (j0 + 384 < n) for (u: 4) c[j0 + u * 128] = …; else for (j = j0; j < n; j += 128) c[j] = …;
#pragma once

#include <functional>
#include <string>

#include "analysis/gpu/vector_accesses.h"

namespace kw {

class CudaStatements;

/// Returns a condition under which the accesses of all threads are aligned.
std::string vectors_are_aligned(const For &n, CudaStatements &out);

/// The iterations of a thread by their numbers from 0 on: the first one, the end of all, and the threads of a
/// block. The iterator of number k is lo + k · step; without `lo` it is the number.
struct Several {
  std::string first, end, lo;
  int64_t threads;
};
/// Emits the iterations of a thread that are side by side, as many as the loop's plan says and as there are.
void emit_vector(const For &n, const Several &mine, const std::string &aligned, CudaStatements &out);
/// Emits whether the guard of a body holds for all iterations, and returns "NAME && "; "" without a guard.
/// `first` and `last` are values of the iterator.
std::string guard_holds(const For &n, const std::string &first, const std::string &last, CudaStatements &out);
/// Returns how many groups of iterations a thread of a team executes at once: one where it also stores
/// vectors, which take as many registers.
int64_t groups_at_once(const For &n);
/// Groups of iterations of a block loop, by their numbers: the first one of a thread, the end of all, and the
/// value of the iterator for number 0, or "" for 0. `is_whole`: every thread has as many groups as are
/// written out.
struct SideBySideRange {
  std::string first, end, lo;
  int64_t threads = 0;
  bool is_whole = false;
};
/// Emits a body for the iteration of the number.
using EmitIteration = std::function<void(const std::string &number, const Stmt &body)>;
/// Emits the iterations of a block loop that each thread executes side by side, where accesses are aligned
/// and the guard of the body holds.
void emit_side_by_side(const For &n, const SideBySideRange &range, CudaStatements &out,
                       const EmitIteration &iteration);
/// Emits the iterations of a grid loop that one thread executes, a block apart from one another.
void emit_unrolled(const For &n, const Several &mine, CudaStatements &out);

}  // namespace kw
