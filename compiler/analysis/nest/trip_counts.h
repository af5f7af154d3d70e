// How often a loop of a nest runs, as expressions that are right for all 64-bit bounds and plain where the
// bounds are known to be small. Asks the nest what it knows; changes nothing.
#pragma once

#include "analysis/nest/nest.h"

namespace kw {

/// True when both bounds are linear and so small that sums and differences of a few of them cannot wrap.
bool has_small_bounds(const Nest &nest, uint32_t loop);
/// True when the expression is a small sum of extents, constants and iterators of small loops around `loop`.
bool is_small_at(const Nest &nest, uint32_t loop, const Expr &e);
/// True when the first bound is proved not to be behind the second.
bool is_never_inverted(const Nest &nest, uint32_t loop);

/// The number of whole blocks of `size` >= 2 iterations that a loop has, and whether none is left over; null
/// when the iterator's next value can be had without wrapping in any case.
struct BlockCount {
  Expr whole, is_even{};
};
/// From bounds that mean the loop's own.
BlockCount count_blocks(const Nest &nest, uint32_t loop, const Expr &lo, const Expr &hi, int64_t size);
/// True when the bounds are constants and no iteration is between them.
bool surely_none(const Expr &lo, const Expr &hi, int64_t step);
/// The number of iterations, when the bounds are constants.
std::optional<uint64_t> constant_trips(const For &loop);
/// At most so many, where the bounds tell: 1 of `for j in range(max(k, a), min(k + 1, b))`.
std::optional<uint64_t> most_trips(const For &loop);

}  // namespace kw
