// Finds loops whose stores may bypass the caches: if a function only writes an output, a fully written cache
// line need not be read first. Decides neither when a call is large enough nor how a store is emitted.
#pragma once

#include <unordered_set>

#include "analysis/vector/vectorization.h"
#include "ir/func.h"

namespace kw {

using BufferSet = std::unordered_set<const BufNode *>;

/// Returns the outputs that vector loops of the function store to, whose rows are contiguous, and that
/// nothing reads.
BufferSet write_only_outputs(const Func &f);

/// Returns whether the loop stores to these outputs, at addresses that are known before it except for its
/// iterator. Stores under conditions and inner loops are excluded.
bool can_stream(const For &n, const BufferSet &outputs);

/// Returns whether the loop mostly moves memory and stores whole cache lines: non-temporal stores then pay.
bool gains_by_streams(const For &n, const VectorizationAnalysis &view, const BufferSet &outputs);

}  // namespace kw
