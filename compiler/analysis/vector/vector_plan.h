// How a vector loop runs best: how it executes the iterations that fill no whole vector, whether it
// prefetches, and for which lengths of rows it has a version. Changes nothing.
#pragma once

#include "analysis/vector/vectorization.h"

namespace kw {

/// Returns whether iterations may run a second time with the same result: they accumulate nothing, and store
/// to nothing that the loop reads.
bool may_run_again(const For &n, const VectorizationAnalysis &view);

/// What fields of the plan of a vector loop are worth.
struct VectorPlan {
  Tail tail = Tail::scalar;
  bool prefetch = false;
  std::vector<RowLength> rows{};
};

/// Returns the plan of a vector loop that takes the least time. `in_loop` tells whether another loop encloses
/// it: only then it runs often enough that a tail counts.
VectorPlan best_plan(const For &n, const VectorizationAnalysis &view, const Target &target, bool in_loop);

}  // namespace kw
