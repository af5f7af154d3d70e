// Fuses products and sums to fma, and splits an fma again where that is faster. No other pass changes
// roundings.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// Fuses products into sums by the rule of language.md 3, in default and fast mode and on targets that have
/// fma:
///     c[i] = a[i] * b[i] + d[i]   →   c[i] = fma(a[i], b[i], d[i])
/// The product must be used once, in the same statement; of two products the left one is fused. Runs first,
/// on the source program.
Func fuse_fma(const Func &f, const Target &target);

/// In fast mode, splits an fma that waits for the previous iteration into a product, which does not wait, and
/// a sum. The sum has a lower latency (2 cycles instead of 4 on Golden Cove, 3 instead of 4 on Zen 3).
///     s = fma(a[i], b[i], s)   →   s = s + a[i] * b[i]
/// Only in serial loops with few such fma. Vectorized fma and products that wait themselves stay fused.
Func split_fma(const Func &f, const Target &target);

}  // namespace kw
