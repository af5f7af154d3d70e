// Loops whose stores may bypass the caches: of outputs that the function only writes, a line that is written
// whole need not be read first. Decides neither when a call is large enough nor how a store is emitted.
#pragma once

#include <unordered_set>

#include "analysis/vector/vectorization.h"
#include "ir/func.h"

namespace kw {

using BufferSet = std::unordered_set<const BufNode *>;

/// Returns the outputs that vector loops of the function store to, whose rows are contiguous, and that
/// nothing reads.
BufferSet write_only_outputs(const Func &f);

/// Returns whether the place of every store to these outputs in a vector loop is known before the loop but
/// for its iterator, and there is one. Stores under conditions and in inner loops are excluded.
bool can_stream(const For &n, const BufferSet &outputs);

/// Returns whether the loop mostly moves memory and stores whole cache lines: non-temporal stores then pay.
bool gains_by_streams(const For &n, const VectorizationAnalysis &view, const BufferSet &outputs);

}  // namespace kw
