// Extents of a tensor as a value: up to 8 of them, with no memory of their own. Says nothing of what they
// mean: tensors check that.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "ir/signature.h"

namespace kw {

using Extents = std::span<const int64_t>;

class Shape {
 public:
  Shape() = default;
  /// Throws OpError for more than 8.
  Shape(Extents extents);  // NOLINT(google-explicit-constructor): they are the same to callers
  Shape(const std::vector<int64_t> &extents) : Shape(Extents(extents)) {}  // NOLINT
  Shape(std::initializer_list<int64_t> extents) : Shape(Extents(extents.begin(), extents.size())) {}

  size_t size() const { return rank_; }
  const int64_t *data() const { return extents_.data(); }
  const int64_t *begin() const { return data(); }
  const int64_t *end() const { return data() + rank_; }
  int64_t operator[](size_t d) const { return extents_[d]; }
  friend bool operator==(const Shape &a, Extents b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator==(const Shape &a, const Shape &b) { return a == Extents(b); }

 private:
  std::array<int64_t, max_rank> extents_;  // the first `rank_` mean something
  size_t rank_ = 0;
};

}  // namespace kw
