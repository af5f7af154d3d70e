// Checks leave the loops they need not be in. One whose condition is known before the kernel begins (index
// arrays that are arguments and never written, loops with fixed bounds) runs before everything else, by
// blocks:
//     for i in serial(0, n, 1):          for b in serial(0, n, 1024):  bad[()] = False
//       check(idx[i] < m)            →     for k in vector(0, min(n - b, 1024), 1): bad[()] |= not idx[b + k]
//       < m y[i] = x[idx[i]]                   if bad[()]: for k in …: check(idx[b + k] < m)
// and then the loop without it. Any other check that begins a loop's body and is the same in each iteration
// moves in front of that loop. Needs facts (extents are at least 1); what a guard or a jump may pass by
// stays.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func hoist_checks(const Func &f, const Target &target);

}  // namespace kw
