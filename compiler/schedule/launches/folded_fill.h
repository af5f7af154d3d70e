// Lets a nest also write the zeros of an output around what it computes, which would else be a pass over all
// of its memory before.
//     for i in (1, n - 1): y[i] = v   →   for i in (0, n): if 1 <= i < n - 1: y[i] = v  else: y[i] = 0
#pragma once

#include "ir/func.h"

namespace kw {

/// Returns the first output that is zero before the kernel and that a nest writes entirely once its loops run
/// over all elements; null if there is none. The nest is a statement of the function's body.
Buf foldable_output(const Func &f, const Stmt &nest);

/// Returns the nest over all elements of the output.
Stmt with_folded_fill(const Stmt &nest, const Buf &output);

}  // namespace kw
