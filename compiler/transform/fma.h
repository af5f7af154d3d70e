// Products and the sums that use them: where the two are one fma, and where they are two operations again.
// Both passes change roundings; no other pass does.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// Products that meet a sum become fma, by the rule of language.md 3 and only in default and fast mode on
/// targets that have it:
///     c[i] = a[i] * b[i] + d[i]   →   c[i] = fma(a[i], b[i], d[i])
/// The product must be used once, in the same statement; of two products the left one is fused. Runs first,
/// on the source program.
Func fuse_fma(const Func &f, const Target &target);

/// In fast mode an fma that waits for the iteration before becomes a product and a sum: the product does not
/// wait, and a sum takes half the cycles of an fma (2 of 4 on Golden Cove, 3 of 4 on Zen 3).
///     s = fma(a[i], b[i], s)   →   s = s + a[i] * b[i]
/// Only in loops that run one iteration after the other and have few such fma; vectors and products that wait
/// keep their fma.
Func split_fma(const Func &f, const Target &target);

}  // namespace kw
