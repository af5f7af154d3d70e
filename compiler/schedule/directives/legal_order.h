// The dependence rules of the directives that change the execution order: reorder, tile, unroll_and_jam, fuse
// and distribute. Each asks of every dependence whether its sink could come to execute before its source.
// Knows nothing about the form of the tree, see schedule/directives/preconditions.
#pragma once

#include "schedule/directives/legal.h"

namespace kw {

/// Of a directive that fits the tree of the nest. Verbs that keep the order are legal. With `shown` a
/// witness is looked for.
Verdict legal_order(const Func &f, const Nest &nest, const Directive &d, bool shown);

}  // namespace kw
