// Finds the scalars that can be private to each iteration of a loop. Does not look at arrays that iterations
// share.
#pragma once

#include <vector>

#include "analysis/nest/nest.h"

namespace kw {

/// Returns the mutable scalars from outside the loop that can be private: every iteration writes them before
/// it reads them, and nothing outside the loop reads them.
std::vector<const BufNode *> private_scalars(const Func &f, const Nest &nest, uint32_t loop);

/// Returns whether each iteration first writes the buffer, in source order, and nothing outside the loop
/// reads it. The buffer could then be private, unless an iteration reads elements of an earlier one.
bool could_be_private(const Func &f, const Nest &nest, uint32_t loop, const BufNode &buf);

/// Returns whether the statement stores to a mutable scalar that is declared outside it and not in `but`.
bool writes_outer_scalar(const Stmt &s, const std::vector<const BufNode *> &but = {});

}  // namespace kw
