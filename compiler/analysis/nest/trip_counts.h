// Computes trip counts of the loops of a nest. The expressions are right for all 64-bit bounds, and simple if
// the bounds are known to be small. Changes nothing.
#pragma once

#include "analysis/nest/nest.h"

namespace kw {

/// Returns whether both bounds are linear and so small that sums and differences of a few cannot wrap.
bool has_small_bounds(const Nest &nest, uint32_t loop);
/// Returns whether the expression is a small sum of extents, constants and iterators of small enclosing
/// loops.
bool is_small_at(const Nest &nest, uint32_t loop, const Expr &e);
/// Returns whether lo <= hi is proved (for a negative step: lo >= hi).
bool is_never_inverted(const Nest &nest, uint32_t loop);

/// The number of whole blocks of `size` >= 2 iterations, and whether no iteration remains. `is_even` is null
/// if the iterator's next value cannot wrap in any case.
struct BlockCount {
  Expr whole, is_even{};
};
/// Counts the blocks of a loop, whose bounds have the values `lo` and `hi`.
BlockCount count_blocks(const Nest &nest, uint32_t loop, const Expr &lo, const Expr &hi, int64_t size);
/// Returns whether the bounds are constants with no iteration between them.
bool surely_none(const Expr &lo, const Expr &hi, int64_t step);
/// Returns the trip count if the bounds are constants.
std::optional<uint64_t> constant_trips(const For &loop);
/// Returns an upper bound of the trip count if the bounds give one: 1 for `range(max(k, a), min(k + 1, b))`.
std::optional<uint64_t> most_trips(const For &loop);

}  // namespace kw
