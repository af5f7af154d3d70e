// The elements of an array as runs of bytes side by side, for what fills or copies arrays with any strides.
// Owns and changes nothing.
#pragma once

#include <cstddef>

#include "runtime/array_view.h"

namespace kw {

/// Calls f(first byte, bytes) for each run of elements that lie side by side, in the order of the elements.
template <class F>
void for_each_run(const ArrayView &a, F &&f) {
  if (a.is_empty()) return;
  size_t outer = a.rank;
  int64_t run = a.item_bytes();
  for (; outer > 0 && (a.extents[outer - 1] == 1 || a.stride_bytes(outer - 1) == run); --outer)
    run *= a.extents[outer - 1];
  auto visit = [&](auto &self, size_t d, char *at) -> void {
    if (d == outer) return f(static_cast<void *>(at), static_cast<size_t>(run));
    for (int64_t i = 0; i < a.extents[d]; ++i) self(self, d + 1, at + i * a.stride_bytes(d));
  };
  visit(visit, 0, static_cast<char *>(a.data));
}

}  // namespace kw
