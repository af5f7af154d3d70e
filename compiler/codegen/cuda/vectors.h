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

/// Emits a body for the iteration of the number.
using EmitIteration = std::function<void(const std::string &number, const Stmt &body)>;

/// Returns a condition under which the accesses of all threads are aligned.
std::string vectors_are_aligned(const For &n, const VectorLoop &loop, CudaStatements &out);
/// Emits whether the guard of a body holds for all iterations, and returns "NAME && "; "" without a guard.
/// `first` and `last` are values of the iterator.
std::string guard_holds(const For &n, const GuardedBody &parts, const std::string &first,
                        const std::string &last, CudaStatements &out);

/// Groups of iterations of a thread. Iterations are numbered from 0 on.
struct Groups {
  std::string begin;  ///< number of the first iteration of the first group
  int64_t count;      ///< of groups
  int64_t apart;      ///< from the first iteration of a group to that of the next
  std::string lo;     ///< value of the iterator for number 0; "" is 0
  std::string end;    ///< number behind the last iteration of the loop; "" if no group lies behind it
};
/// Returns how many groups of iterations a thread of a team executes at once: one where it also stores
/// vectors, which take as many registers.
int64_t groups_at_once(const For &n, const VectorLoop &loop);
/// Emits groups whose accesses are aligned, where the guard of the body holds: all loads, then the iterations
/// and the stores of each. The stores of 16 bytes are no plain ones, which loads could move across.
void emit_groups(const For &n, const VectorLoop &loop, const Groups &groups, CudaStatements &out,
                 const EmitIteration &iteration);
/// Emits groups that begin asynchronous copies to memory that the team shares, all of whose accesses are
/// vectors.
void emit_copies(const For &n, const VectorLoop &loop, const Groups &groups, CudaStatements &out);

/// Emits a loop from 0 to its width, whose accesses are aligned: one vector of a thread.
void emit_vector_loop(const For &n, CudaStatements &out);

/// The iterations of a thread by their numbers from 0 on: the first one, the end of all, and the threads of a
/// block. The iterator of number k is lo + k · step; without `lo` it is the number.
struct ThreadIterations {
  std::string first, end, lo;
  int64_t threads;
};
/// Emits the iterations of a grid loop that one thread executes side by side, as many as the loop's plan says
/// and as there are.
void emit_vector(const For &n, const VectorLoop &loop, const ThreadIterations &mine,
                 const std::string &aligned, CudaStatements &out);
/// Emits the iterations of a grid loop that one thread executes, as many threads apart as a block has.
void emit_unrolled(const For &n, const ThreadIterations &mine, CudaStatements &out);

}  // namespace kw
