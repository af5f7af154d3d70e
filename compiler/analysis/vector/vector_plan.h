// Chooses how a vector loop runs best: its remainder iterations, prefetching, and the row lengths to version
// for. Changes nothing.
#pragma once

#include "analysis/vector/vectorization.h"

namespace kw {

/// Returns whether iterations may run a second time with the same result: they accumulate nothing, and store
/// to nothing that the loop reads.
bool may_run_again(const For &n, const VectorizationAnalysis &view);

/// The chosen values of fields of a vector loop's plan.
struct VectorPlan {
  Tail tail = Tail::scalar;
  bool prefetch = false;
  std::vector<RowLength> rows{};
};

/// Returns the fastest plan of a vector loop. `in_loop` tells whether another loop encloses it: only then it
/// runs often enough that its remainder matters.
VectorPlan best_plan(const For &n, const VectorizationAnalysis &view, const Target &target, bool in_loop);

}  // namespace kw
