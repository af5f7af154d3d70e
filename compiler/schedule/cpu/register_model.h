// Estimates the cycles of a vectorized body and the registers that it needs, and derives vector widths from
// these estimates. All are pure functions of the target and the loop.
#pragma once

#include "analysis/vector/vectorization.h"
#include "support/target.h"

namespace kw {

/// The work of one iteration of an innermost body, all jammed copies together. Assumes one register per
/// value.
struct BodyWork {
  int64_t rows = 0;          ///< contiguous vector loads
  int64_t scalars = 0;       ///< loads of a uniform value
  int64_t stores = 0;        ///< vector stores
  int64_t operations = 0;    ///< vector operations
  int64_t accumulators = 0;  ///< vectors that live across iterations
  int64_t held = 0;          ///< loaded vectors that a later copy still needs
};

/// Returns the registers that a body needs at once, at `vectors` registers per value.
int64_t registers_of(const BodyWork &work, int64_t vectors, bool fused);
bool fits_registers(const Target &target, const BodyWork &work, int64_t vectors, bool fused);
/// Returns the cycles of one iteration with all data in the L1 cache. They are the time of the busiest unit,
/// or the latency of a sum if that is longer.
double cycles_of(const Machine &machine, const BodyWork &work, int64_t vectors);

/// Returns the registers per value for a body. More registers hide more latency, as long as all values fit in
/// registers.
uint32_t vectors_per_value(const Target &target, const VectorizationAnalysis::Work &work);
/// Loops of fewer iterations are not vectorized. Chosen: they fill no register.
inline constexpr uint32_t fewest_lanes = 4;
/// Returns the vector width for a loop; 0 if vectorizing it gains nothing.
uint32_t lanes_of_loop(const Target &target, const For &loop, VectorizationAnalysis &view);

}  // namespace kw
