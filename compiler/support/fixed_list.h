// A short list in place, for paths that must not allocate. Its items are plain values: none is constructed
// before it is pushed, and none is destroyed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "support/diagnostic.h"

namespace kw {

template <class T, size_t N>
class FixedList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);

 public:
  /// Adds an item; a list of more than N items is a fault of the caller.
  void push_back(T item) {
    need(1);
    items_[count_++] = item;
  }
  /// Adds items that are not of this list; in a loop, because for a few it is faster than memmove.
  void append(std::span<const T> more) {
    need(more.size());
    for (size_t i = 0; i < more.size(); ++i) items_[count_ + i] = more[i];
    count_ += more.size();
  }
  /// Keeps the first `count` items; there must be at least as many.
  void truncate(size_t count) { count_ = count; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T *data() { return items_.data(); }
  const T *data() const { return items_.data(); }
  T *begin() { return data(); }
  T *end() { return data() + count_; }
  const T *begin() const { return data(); }
  const T *end() const { return data() + count_; }
  const T &operator[](size_t i) const { return items_[i]; }

 private:
  void need(size_t more) const {
    if (more > N - count_) [[unlikely]]
      ensure(false, "a list is longer than it may be");
  }

  size_t count_ = 0;        // first: in one cache line with the first items
  std::array<T, N> items_;  // only the first `count_` are set
};

}  // namespace kw
