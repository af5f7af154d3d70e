// Loops that the user asks to have written out: `for i in unroll(8)`. The copies of a body together are kept
// below a limit of operations; loops in lanes or on threads, and those that sum in lanes, stay as they are.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/func.h"

namespace kw {

inline constexpr uint64_t most_operations_written = 512;

struct UnrollPlan {
  std::optional<uint64_t> trips;  ///< when it is a constant
  uint64_t operations = 0;        ///< of one copy of the body, loads and stores included
  uint32_t copies = 1;            ///< that are written out
  bool jumps = false;             ///< iterations can end early: none is written out
};
UnrollPlan unroll_plan(const For &loop);

/// Gives hinted serial loops their kind and how many iterations are written out.
Func unroll_hinted(const Func &f);

}  // namespace kw
