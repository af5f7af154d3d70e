// Makes a second version of kernels with sums in the order `lanes`, for calls with fewer than 64 iterations
// in their bands. Such sums run in source order (language.md 3), so that the loops around them can be
// vectorized.
//     for i: s = 0; for j in (0, n): s += x[i, j] @ lanes(j)
//       →   if n < 64: for i in vector: s = 0; for j: s += x[i, j]
//           else: the same as before
#pragma once

#include <optional>

#include "ir/func.h"

namespace kw {

/// A version of a kernel, and the condition of the calls that it is for.
struct ShortSums {
  Expr condition;  ///< b1 over sizes and scalar arguments: every sum that changed has fewer than 64 terms
  Func func;       ///< `f` with these sums in source order
};

/// Returns the version before scheduling; nothing if the call arguments determine the length of no band.
std::optional<ShortSums> short_sums(const Func &f);

/// Returns whether `version` has more vector loops that contain a loop than `main`.
bool vectorizes_more(const Func &version, const Func &main);

/// Returns `main` with a branch to the scheduled version, and the warnings of both.
Func with_short_sums(Func main, const Expr &condition, const Func &version);

}  // namespace kw
