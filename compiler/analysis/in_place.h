// Decides whether a kernel may write an output over an input: out= is then computed in place, else through a
// temporary. Ignores profit.
#pragma once

#include "ir/func.h"

namespace kw {

/// Returns the inputs that may share one array with `out`: the kernel surely reads each of their elements
/// before it writes the same element of `out`.
///
///   for i: y[i] = 2 * x[i]            x may be y
///   for i: y[i] = x[i - 1] + x[i]     no: an iteration reads what the previous one wrote
///   for t: for i: y[i] = x[i]         no: the second t reads what the first one wrote
std::vector<Buf> inputs_to_overwrite(const Func &f, const Buf &out);

}  // namespace kw
