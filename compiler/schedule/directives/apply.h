// Rewrites the tree by a directive that is applicable and legal. Each statement keeps its Loc, each copy gets
// symbols of its own.
//     split i by 8     for i0 in 0..(n // 8): for i1 in 0..8: S(i0 * 8 + i1)
//     for i in 0..n: S(i)   →   for i in (n // 8) * 8..n: S(i)
#pragma once

#include "schedule/directives/directives.h"
#include "schedule/tree/statement_list.h"

namespace kw {

/// Returns the region after a directive. The caller has checked it by LoopNest::legal, whose verdict names
/// the accumulators of a grid loop.
Stmt apply_directive(const Func &f, const Stmt &region, const Nest &nest, const Directive &d,
                     std::vector<Buf> accumulators = {});
/// Returns the loop with the plan field set that the directive sets; the same loop if it is no such
/// directive.
Stmt with_plan(const Stmt &s, const Directive &d);
/// Returns the region after several directives in one rewrite: parallel, vectorize, and directives that set
/// plans.
Stmt apply_marks(const Func &f, const Stmt &region, const Nest &nest, const std::vector<Directive> &marks);

}  // namespace kw
