// What a body over lanes costs a machine and how many of its registers it needs: pure functions of Target
// that the steps of a schedule compare. They decide nothing by themselves and know no loop's size.
#pragma once

#include "analysis/vectorization.h"
#include "support/target.h"

namespace kw {

/// One visit of an innermost body by all copies of it that run side by side, with one vector for its lanes.
struct BodyWork {
  int64_t rows = 0;          ///< vectors loaded from places side by side
  int64_t scalars = 0;       ///< values loaded once for all lanes
  int64_t stores = 0;        ///< vectors stored
  int64_t operations = 0;    ///< on vectors
  int64_t accumulators = 0;  ///< vectors that stay from one visit to the next
  int64_t held = 0;          ///< vectors of rows and scalars that wait for a later copy
};

/// Of a body whose lanes fill `vectors` registers per value: those that it needs at once.
int64_t registers_of(const BodyWork &work, int64_t vectors, bool fused);
bool fits_registers(const Target &target, const BodyWork &work, int64_t vectors, bool fused);
/// Cycles of a visit when all it reads is near: what the busiest unit takes, or the latency of a sum.
double cycles_of(const BodyWork &work, int64_t vectors);
/// The work of a tile of a matrix product: `rows` rows of sums, each times one row of the right factor.
BodyWork tile_work(int64_t rows, bool fused);

/// Registers per value that a body of so many operations is worth: independent work hides latencies, as long
/// as all values have a register.
uint32_t vectors_per_value(const Target &target, const VectorizationAnalysis::Work &work);
/// Iterations at once for a loop; 0 when lanes gain nothing.
uint32_t lanes_of_loop(const Target &target, const For &loop, VectorizationAnalysis &view);

}  // namespace kw
