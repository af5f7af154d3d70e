// Estimates the work of a call and the workspace it needs, as expressions over extents. Estimates decide only
// where a call runs (threads, GIL), never what it computes.
#pragma once

#include <vector>

#include "ir/func.h"

namespace kw {

/// Assumed trip counts of a loop whose count depends on data, and of one with an unknown extent. Chosen, not
/// measured.
inline constexpr int64_t while_trips = 16, unknown_trips = 256;

/// Vectorized operations that take as long as one scalar operation: the f32 values in an AVX2 register, the
/// narrowest vector that loops are compiled for.
inline constexpr int64_t vector_speedup = 8;

struct WorkEstimate {
  Expr operations;      ///< i64 over extents and parameters: scalar operations, about 0.3 ns each
  bool bounded = true;  ///< no trip count depends on the elements of a tensor
};
/// Estimates the operations of one call. A vectorized operation counts 1 / vector_speedup.
WorkEstimate estimate_work(const Func &f);
/// Estimates one loop as an expression over values defined before the loop. Each operation counts 1, each
/// element loaded or stored counts 2.
WorkEstimate estimate_work(const For &loop);

/// A heap temporary. `bytes` is its size over extents and parameters, rounded up to 64.
struct WorkspaceSlot {
  Buf buf;
  Expr bytes;
  bool per_thread = false;  ///< declared in a parallel loop: every thread needs its own
};
/// Returns the slots in order of declaration. Throws E102 if the size of a temporary in a loop has no bound
/// over the extents.
std::vector<WorkspaceSlot> plan_workspace(const Func &f);

}  // namespace kw
