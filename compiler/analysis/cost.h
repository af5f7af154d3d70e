// Estimates from extents: how much work a run is, and how much workspace it needs. Estimates steer only where
// a run takes place.
#pragma once

#include <vector>

#include "ir/func.h"

namespace kw {

/// How often a loop runs whose count depends on data, and one whose size nobody knows: guesses.
inline constexpr int64_t while_trips = 16, unknown_trips = 256;

/// How many operations of a loop in lanes take as long as one outside: what the narrowest registers hold.
inline constexpr int64_t vector_speedup = 8;

struct WorkEstimate {
  Expr operations;      ///< i64 over extents and parameters: scalar operations, about 0.3 ns each
  bool bounded = true;  ///< false when a trip count depends on data
};
/// Of a run: operations in lanes count by the time they take.
WorkEstimate estimate_work(const Func &f);
/// Of one loop, over what is known where it begins; operations count one by one, elements of memory as two.
WorkEstimate estimate_work(const For &loop);

/// A heap temporary and its size in bytes over extents and parameters, rounded up to 64.
struct WorkspaceSlot {
  Buf buf;
  Expr bytes;
  bool per_thread = false;  ///< stands in a parallel loop: each thread that runs it has one of its own
};
/// Slots in order of declaration. Throws E102 when the size of a temporary in a loop has no bound over the
/// extents.
std::vector<WorkspaceSlot> plan_workspace(const Func &f);

}  // namespace kw
