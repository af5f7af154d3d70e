// The schedule of a kernel for CPUs: which loops run on several threads, and which run their iterations side
// by side in vector registers.
//     for i in serial(0, m): for j in serial(0, n): …   →   for i in parallel(0, m): for j in vector(0, n,
//     width=64): …
// Every choice is asked of schedule/legal first. Changes no statement, no order of a sum, no result.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func choose_cpu(const Func &f, const Target &target);

}  // namespace kw
