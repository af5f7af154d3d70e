// Maps and sets keyed by addresses, which only grow: one array with linear probing, none while they are
// empty. Passes make and drop them by the hundred, and a node of std::unordered_map for each entry is a
// quarter of their time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kw {

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

  /// Where the key is, or would be put.
  size_t place_of(const void *key) const {
    size_t mask = slots_.size() - 1;
    uint64_t bits = reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15u;  // Fibonacci hashing
    size_t at = static_cast<size_t>(bits >> 32) & mask;
    while (slots_[at].key && slots_[at].key != key) at = (at + 1) & mask;
    return at;
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

class PointerSet {
 public:
  /// True when the key, which is not null, is new.
  bool insert(const void *key) { return map_.insert(key, {}); }

 private:
  struct Nothing {};
  PointerMap<Nothing> map_;
};

}  // namespace kw
