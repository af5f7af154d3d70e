// The dependence rules of the directives that change the execution order: reorder, tile, unroll_and_jam, fuse
// and distribute. Each rule asks for every dependence whether its sink could execute before its source. Knows
// nothing about the form of the tree (schedule/directives/preconditions).
#pragma once

#include "schedule/directives/legal.h"

namespace kw {

/// Returns the verdict on a directive that fits the tree of the nest. Directives that keep the execution
/// order are legal. With `shown`, searches for a witness.
Verdict legal_order(const Func &f, const Nest &nest, const Directive &d, bool shown);

}  // namespace kw
