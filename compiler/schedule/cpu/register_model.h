// Estimates the cycles of a vectorized body and the registers it needs: pure functions of Target that the
// steps of a schedule compare. They decide nothing themselves and know no trip counts.
#pragma once

#include "analysis/vector/vectorization.h"
#include "support/target.h"

namespace kw {

/// The work of one iteration of an innermost body, of all jammed copies together, at one register per value.
struct BodyWork {
  int64_t rows = 0;          ///< contiguous vector loads
  int64_t scalars = 0;       ///< loads of one value for all lanes
  int64_t stores = 0;        ///< vector stores
  int64_t operations = 0;    ///< vector operations
  int64_t accumulators = 0;  ///< vectors that live across iterations
  int64_t held = 0;          ///< loaded vectors that a later copy still needs
};

/// Returns the registers that a body needs at once, at `vectors` registers per value.
int64_t registers_of(const BodyWork &work, int64_t vectors, bool fused);
bool fits_registers(const Target &target, const BodyWork &work, int64_t vectors, bool fused);
/// Returns the cycles of one iteration with all data in the L1 cache: those of the busiest unit, or the
/// latency of a sum.
double cycles_of(const Machine &machine, const BodyWork &work, int64_t vectors);

/// Returns the registers per value for a body: independent operations hide latencies, as long as all values
/// fit in registers.
uint32_t vectors_per_value(const Target &target, const VectorizationAnalysis::Work &work);
/// Loops of fewer iterations are not vectorized. Chosen: they fill no register.
inline constexpr uint32_t fewest_lanes = 4;
/// Returns the vector width for a loop; 0 if vectorizing it gains nothing.
uint32_t lanes_of_loop(const Target &target, const For &loop, VectorizationAnalysis &view);

}  // namespace kw
