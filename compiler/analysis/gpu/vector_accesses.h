// Which accesses of a loop can load or store the elements of several iterations at once on a GPU, and how
// many. Judges no dependences: the iterations may run in any order.
#pragma once

#include <vector>

#include "ir/node.h"

namespace kw {

/// The accesses to one buffer, all to the element of the iteration in a row.
struct VectorAccess {
  Buf buf;
  std::vector<Expr> index;
  bool is_loaded = false, is_stored = false;
};

/// Returns the accesses that every iteration executes, whose last subscript is the iterator and whose others
/// do not change. A buffer with accesses of other forms is left out.
std::vector<VectorAccess> vector_accesses(const For &n);

/// Returns the iterations whose elements fill 16 bytes, the widest access of a thread; 1 if the loop is not
/// worth it: it stores nothing in rows, or its body is long.
int64_t vector_width_on_gpu(const For &n);

}  // namespace kw
