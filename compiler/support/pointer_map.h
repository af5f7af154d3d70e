// Maps and sets keyed by addresses, which only grow: one array with linear probing. Passes make and drop them
// by the hundred, and a node of std::unordered_map for each entry is a quarter of their time. Maps have no
// array while they are empty, sets a short one within themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kw {

namespace detail {

/// Where a key is, or would be put, among `size` slots, of which key_at(i) is the key or null.
template <class F>
size_t slot_of(const void *key, size_t size, F &&key_at) {
  size_t mask = size - 1;
  uint64_t bits = reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15u;  // Fibonacci hashing
  size_t at = static_cast<size_t>(bits >> 32) & mask;
  while (key_at(at) && key_at(at) != key) at = (at + 1) & mask;
  return at;
}

}  // namespace detail

template <class V>
class PointerMap {
 public:
  /// The value of a key that is not null; null when it has none. Valid until the next insertion.
  const V *find(const void *key) const {
    if (slots_.empty()) return nullptr;
    const Slot &slot = slots_[place_of(key)];
    return slot.key ? &slot.value : nullptr;
  }
  /// True when the key is new; else the value stays.
  bool insert(const void *key, V value) {
    if (4 * (count_ + 1) > 3 * slots_.size()) grow();
    Slot &slot = slots_[place_of(key)];
    if (slot.key) return false;
    slot = {key, std::move(value)};
    ++count_;
    return true;
  }
  size_t size() const { return count_; }

 private:
  struct Slot {
    const void *key = nullptr;
    [[no_unique_address]] V value{};
  };

  size_t place_of(const void *key) const {
    return detail::slot_of(key, slots_.size(), [&](size_t at) { return slots_[at].key; });
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (Slot &slot : old)
      if (slot.key) slots_[place_of(slot.key)] = std::move(slot);
  }

  std::vector<Slot> slots_;  ///< a power of two of them
  size_t count_ = 0;
};

/// Has room for a few keys of its own: most sets stay that small.
class PointerSet {
 public:
  PointerSet() = default;
  PointerSet(const PointerSet &) = delete;
  PointerSet &operator=(const PointerSet &) = delete;
  /// True when the key, which is not null, is new.
  bool insert(const void *key) {
    if (4 * (count_ + 1) > 3 * size_) grow();
    const void **slot = slot_of(key);
    if (*slot) return false;
    *slot = key;
    ++count_;
    return true;
  }

 private:
  const void **slot_of(const void *key) {
    return &slots_[detail::slot_of(key, size_, [&](size_t at) { return slots_[at]; })];
  }
  void grow() {
    std::vector<const void *> old(4 * size_);
    old.swap(more_);
    const void **before = std::exchange(slots_, more_.data());
    size_t count = std::exchange(size_, more_.size());
    for (size_t i = 0; i < count; ++i)
      if (before[i]) *slot_of(before[i]) = before[i];
  }

  const void *few_[32] = {};
  std::vector<const void *> more_;
  const void **slots_ = few_;
  size_t size_ = 32, count_ = 0;  ///< slots, a power of two, and keys
};

}  // namespace kw
