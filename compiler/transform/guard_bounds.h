// Makes every access safe. An index that is proved in bounds stays as it is; one that is in bounds under a
// condition on extents adds the condition to the facts of the function; any other is checked where it
// happens:
//     c[i] = a[idx[i]]   →   check(cast(u64, idx[i]) < cast(u64, a_0), site=0)
//                            c[i] = a[idx[i]]
// Does not hoist checks out of loops.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// The optimised body: facts where possible. Extents are at least 1 (the first facts say so).
Func guard_bounds(const Func &f, const Target &target);
/// The plain body: nothing is assumed, and what its loops alone do not prove is checked.
Func guard_bounds_without_facts(const Func &f, const Target &target);
/// The same for kernels that vouch for their data (`unchecked=True`): a subscript that is read from memory,
/// or that counts between values from there, is left alone.
Func guard_bounds_but_data(const Func &f, const Target &target);
Func guard_bounds_without_facts_but_data(const Func &f, const Target &target);

/// The body with `debug=True`: every access is checked.
Func check_all_bounds(const Func &f, const Target &target);

}  // namespace kw
