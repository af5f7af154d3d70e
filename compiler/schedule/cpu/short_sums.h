// Sums in lanes of few terms. A band of fewer than 64 iterations is summed in source order (language.md 3),
// where its mark gains nothing and keeps the loops around it out of vectors. The kernel gets a second version
// for calls in which every band is that short, and a branch on the sizes of the call.
//     for i: s = 0; for j in (0, n): s += x[i, j] @ lanes(j)
//       →   if n < 64: for i in vector: s = 0; for j: s += x[i, j]
//           else: the same as before
#pragma once

#include <optional>

#include "ir/func.h"

namespace kw {

/// A version of a kernel and the calls that it is for.
struct ShortSums {
  Expr condition;  ///< b1 over sizes and scalar arguments: every sum that changed has fewer than 64 terms
  Func func;       ///< as `f`, with these sums in source order
};

/// Returns the version, not scheduled yet; none when the length of no band is known from the call.
std::optional<ShortSums> short_sums(const Func &f);

/// True when more loops that hold loops are vectorized in `version` than in `main`.
bool vectorizes_more(const Func &version, const Func &main);

/// `main` with a branch to the scheduled version, and its warnings.
Func with_short_sums(Func main, const Expr &condition, const Func &version);

}  // namespace kw
