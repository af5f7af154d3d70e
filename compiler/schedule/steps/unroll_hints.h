// Unrolls loops with the user's hint: `for i in unroll(8)`. Limits the operations of all copies of a body.
// Vectorized and parallel loops, and loops with sums in the order `lanes`, stay as they are.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/directives/loop_nest.h"

namespace kw {

/// Most operations of all copies of a body together. 512: chosen, some 2 KB of machine code.
inline constexpr uint64_t most_operations_written = 512;

struct UnrollPlan {
  std::optional<uint64_t> trips;  ///< the trip count, if it is constant
  uint64_t operations = 0;        ///< operations of one copy of the body, loads and stores included
  uint32_t copies = 1;            ///< copies of the body after unrolling
  bool jumps = false;             ///< iterations can end early: the loop is not unrolled
};
UnrollPlan unroll_plan(const For &loop);

/// Unrolls the serial loops that have the hint.
void unroll_hinted(LoopNest &nest);

}  // namespace kw
