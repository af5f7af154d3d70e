// The extents of a tensor as a value: up to 8, stored without heap memory.
// Does not check their meaning; tensors do.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

#include "ir/signature.h"
#include "support/fixed_list.h"

namespace kw {

using Extents = std::span<const int64_t>;

/// Throws OpError for more than 8 dimensions.
void check_rank(size_t rank);

/// Extents with value semantics. Copies take no memory from the heap.
class Shape : public FixedList<int64_t, max_rank> {
 public:
  Shape() = default;
  /// Throws OpError for more than 8 dimensions.
  Shape(Extents extents) {  // NOLINT(google-explicit-constructor): they are the same to callers
    check_rank(extents.size());
    append(extents);
  }
  Shape(const std::vector<int64_t> &extents) : Shape(Extents(extents)) {}  // NOLINT
  Shape(std::initializer_list<int64_t> extents) : Shape(Extents(extents.begin(), extents.size())) {}

  friend bool operator==(const Shape &a, Extents b) { return std::ranges::equal(a, b); }
  friend bool operator==(const Shape &a, const Shape &b) { return a == Extents(b); }
};

}  // namespace kw
