// Which scalars of the kernel each iteration of a loop can have for itself. Arrays that iterations share are
// not looked at.
#pragma once

#include <vector>

#include "analysis/nest/nest.h"

namespace kw {

/// The mutable scalars made outside the loop that every iteration writes before it reads them, and that
/// nothing reads outside the loop.
std::vector<const BufNode *> private_scalars(const Func &f, const Nest &nest, uint32_t loop);

/// True when each iteration of the loop begins with a write to the buffer, as the text has it, and nothing
/// outside the loop reads it: each could have a buffer of its own, unless elements are left from before.
bool could_be_private(const Func &f, const Nest &nest, uint32_t loop, const BufNode &buf);

/// True when the statement stores to a mutable scalar that is made outside it and is not among `but`.
bool writes_outer_scalar(const Stmt &s, const std::vector<const BufNode *> &but = {});

}  // namespace kw
