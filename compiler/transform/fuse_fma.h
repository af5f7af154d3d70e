// Products that meet a sum become fma, by the rule of language.md 3 and only in default and fast mode on
// targets that have it:
//     c[i] = a[i] * b[i] + d[i]   →   c[i] = fma(a[i], b[i], d[i])
// The product must be used once, in the same statement; of two products the left one is fused. Runs first, on
// the source program.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func fuse_fma(const Func &f, const Target &target);

}  // namespace kw
