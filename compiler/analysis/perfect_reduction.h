// Decides whether the loops of a sum in the order `lanes` (language.md 3) form a perfect nest that can run in
// blocks, even on several threads. Ignores profit.
#pragma once

#include <vector>

#include "ir/node.h"

namespace kw {

/// Returns whether the reduction loops `band` (innermost first) are perfectly nested. Nothing in them may
/// fail or end early. They may only write sums in the order `lanes` over this band, and scalars of one
/// iteration. `around` lists the enclosing loops, outermost first, null for a while.
bool is_perfect_reduction(const std::vector<const For *> &band, const std::vector<const For *> &around);

/// Returns the loops of the perfect reduction that begins with this loop, innermost first; empty if there is
/// none.
std::vector<const For *> perfect_reduction_at(const For &outermost, const std::vector<const For *> &around);

/// Returns whether the bounds of the loops follow from the arguments of the call alone.
bool has_call_constant_bounds(const std::vector<const For *> &band);

}  // namespace kw
