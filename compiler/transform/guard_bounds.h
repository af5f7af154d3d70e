// Makes every access safe. An index that is proved in bounds stays. If an index is in bounds under a
// condition on extents, the condition becomes a fact of the function. Any other index is checked before the
// access:
//     c[i] = a[idx[i]]   →   check(cast(u64, idx[i]) < cast(u64, a_0), site=0)
//                            c[i] = a[idx[i]]
// Does not hoist checks out of loops.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// Makes the optimized body, with facts where possible. Assumes extents of at least 1 (the first facts say
/// so).
Func guard_bounds(const Func &f, const Target &target);
/// Makes the plain body: assumes nothing, and checks what the loops alone do not prove.
Func guard_bounds_without_facts(const Func &f, const Target &target);
/// Likewise for `unchecked=True`: does not check a subscript that is read from memory, or whose loop has
/// bounds read from memory.
Func guard_bounds_but_data(const Func &f, const Target &target);
Func guard_bounds_without_facts_but_data(const Func &f, const Target &target);

/// Makes the body for `debug=True`: checks every access.
Func check_all_bounds(const Func &f, const Target &target);

}  // namespace kw
