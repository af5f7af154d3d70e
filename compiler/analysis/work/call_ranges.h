// Ranges of integer expressions for the sizes and scalars of one call: numbers where analysis/interval and
// analysis/value_ranges have forms over all calls.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "ir/node.h"

namespace kw {

/// A range of integers; both ends inclusive.
struct CallRange {
  int64_t low, high;
  bool is_one() const { return low == high; }
  friend bool operator==(const CallRange &, const CallRange &) = default;
};
using CallRanges = std::unordered_map<const SymNode *, CallRange>;

/// Bounds the values of an integer expression by those of its symbols; nothing if the data decide on them, or
/// an end overflows.
std::optional<CallRange> range_of(const Expr &e, const CallRanges &known);

/// Returns the trip count of a loop between two values of its bounds.
int64_t trips_between(int64_t lo, int64_t hi, int64_t step);

}  // namespace kw
