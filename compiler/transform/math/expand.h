// Expands elementary functions to IR: calls without a machine instruction become polynomials, so that no back
// end needs a library:
//     y = exp(x)   →   k = floor(x · log2 e + 1/2), r = x − k · ln 2, y = 2^k · (1 + r + r² q(r))
// Every back end and the interpreter then compute the same bits. Runs after fuse_fma; expansions use fma
// where the target has it.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// Expands calls. If a function has many calls, they stay, and the back end gives it code of its own by
/// `expand_call`.
Func expand_math(const Func &f, const Target &target);
/// Returns the expansion of one call, or the call itself if the function has an instruction.
Expr expand_call(Fn fn, const std::vector<Expr> &args, Loc loc, const Target &target);

}  // namespace kw
