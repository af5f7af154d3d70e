// The loops that a sum in lanes runs over (language.md 3), asked whether their iterations can be cut into
// blocks that run one by one, on several threads too. Changes nothing and asks nothing about profit.
#pragma once

#include <vector>

#include "ir/node.h"

namespace kw {

/// True when the loops of a band (innermost first; `around` it others, outermost first, null for a while)
/// stand directly in one another and all that they write is sums in lanes over just this band, and scalars of
/// an iteration; nothing in them can fail or end early.
bool is_perfect_reduction(const std::vector<const For *> &band, const std::vector<const For *> &around);

/// The pure band that begins with this loop, innermost first; empty when there is none.
std::vector<const For *> perfect_reduction_at(const For &outermost, const std::vector<const For *> &around);

/// True when the ends of the loops are known from the arguments of the call alone.
bool has_call_constant_bounds(const std::vector<const For *> &band);

}  // namespace kw
