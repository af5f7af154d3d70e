// A copy of an unrolled loop without the condition around its body, for the runs in which the condition holds
// in all iterations.
//     for i in unroll(lo, hi, 8): if c(i): x  else: y   →
//         if hi - lo == 8 and c(lo) and c(hi - 1): for i in unroll(lo, lo + 8): x
//         else: for i in serial(lo, hi): if c(i): x  else: y
#pragma once

#include "ir/node.h"

namespace kw {

/// Returns whether the body is a conditional that holds in all iterations if it does in the first and the
/// last one: it compares the iterator with what no iteration changes, and loads nothing.
bool can_unswitch(const For &loop);

Stmt unswitched_loop(const For &loop, const Loc &loc);

}  // namespace kw
