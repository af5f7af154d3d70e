// Maps and sets keyed by addresses, which only grow: one array with linear probing. Passes create hundreds of
// them; with std::unordered_map, whose entries are nodes, they spend a quarter of their time on that. Maps
// have no array while they are empty. Sets hold a short one within themselves, because most stay that small.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kw {

/// The first `own` slots are inside the map; `own` is a power of two, or 0.
template <class V, size_t own = 0>
class PointerMap {
 public:
  /// Returns the value of a key that is not null, or null if it has none. Valid until the next insertion.
  const V *find(const void *key) const {
    if (size_ == 0) return nullptr;
    const Slot &slot = slots()[place_of(key)];
    return slot.key ? &slot.value : nullptr;
  }
  /// Inserts a value and returns whether the key is new; a known key keeps its value.
  bool insert(const void *key, V value) {
    if (4 * (count_ + 1) > 3 * size_) grow();
    Slot &slot = slots()[place_of(key)];
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

  const Slot *slots() const { return more_.empty() ? few_.data() : more_.data(); }
  Slot *slots() { return more_.empty() ? few_.data() : more_.data(); }
  /// Returns the slot of the key, or the free slot for it.
  size_t place_of(const void *key) const {
    const Slot *all = slots();
    size_t mask = size_ - 1;
    uint64_t bits = reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15u;  // Fibonacci hashing
    size_t at = static_cast<size_t>(bits >> 32) & mask;
    while (all[at].key && all[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(size_ == 0 ? 16 : size_ == own ? 4 * own : 2 * size_);
    Slot *before = slots();  // a swap does not move these slots
    old.swap(more_);
    size_t count = std::exchange(size_, more_.size());
    for (size_t i = 0; i < count; ++i)
      if (before[i].key) more_[place_of(before[i].key)] = std::move(before[i]);
  }

  std::array<Slot, own> few_{};
  std::vector<Slot> more_;         ///< all slots, once the own ones do not suffice
  size_t size_ = own, count_ = 0;  ///< number of slots, a power of two, and of keys
};

class PointerSet {
 public:
  /// Inserts a key that is not null; returns whether it is new.
  bool insert(const void *key) { return map_.insert(key, {}); }

 private:
  struct Nothing {};
  PointerMap<Nothing, 32> map_;
};

}  // namespace kw
