// Whether a kernel may write an output over an input: out= is then computed in place, else through a
// temporary. Asks nothing about profit.
#pragma once

#include "ir/func.h"

namespace kw {

/// Returns the inputs of which the kernel surely reads each element before it writes the element of `out` at
/// the same place, so that one array may serve for both:
///
///   for i: y[i] = 2 * x[i]            x may be y
///   for i: y[i] = x[i - 1] + x[i]     not: an iteration reads what the one before wrote
///   for t: for i: y[i] = x[i]         not: the second t reads what the first one wrote
std::vector<Buf> inputs_to_overwrite(const Func &f, const Buf &out);

}  // namespace kw
