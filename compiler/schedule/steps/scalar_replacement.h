// Keeps in a register what one iteration of an innermost loop stores and the next iteration loads.
//     for j in serial(1, n, 1):                   last = alloc(f32, (), 'registers')
//       y[j] = y[j - 1] + x[j]         →          last[()] = y[0] if 1 < n else f32(0.0)
//                                                 for j in serial(1, n, 1):
//                                                   let v = last[()] + x[j]: y[j] = v; last[()] = v
// A sum into one element is such a loop as well. No two buffers may share memory.
#pragma once

#include "ir/func.h"

namespace kw {

Func scalar_replacement(const Func &f);

}  // namespace kw
