// Which accesses of a launch no barrier orders. A barrier of a block orders all accesses of its threads
// before it and after it; one of a warp those of the warp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory.h"

namespace emulator {

constexpr uint32_t warp_size = 32;

/// The threads whose accesses to one byte no barrier orders among each other.
class Accessors {
 public:
  bool none() const { return !thread_; }
  /// The number of one of the threads, from 1.
  uint32_t thread() const { return thread_; }

  /// Returns whether all these accesses come before what the thread at `now` does.
  bool precede(const Place &now) const {
    if (none() || (scope_ == Scope::one && thread_ == now.thread)) return true;
    if (!now.shares_block(thread_) || scope_ == Scope::launch) return false;
    if (block_epoch_ < now.block_epoch) return true;
    return scope_ != Scope::block && now.shares_warp(thread_) && warp_epoch_ < now.warp_epoch;
  }

  /// Adds an access; forgets those that come before it.
  void add(const Place &now) {
    Scope wider = now.shares_warp(thread_)    ? Scope::warp
                  : now.shares_block(thread_) ? Scope::block
                                              : Scope::launch;
    scope_ = precede(now) ? Scope::one : now.thread == thread_ ? scope_ : std::max(scope_, wider);
    thread_ = now.thread, block_epoch_ = now.block_epoch, warp_epoch_ = now.warp_epoch;
  }

 private:
  enum class Scope : uint8_t { one, warp, block, launch };  ///< who else may be among them
  uint32_t thread_ = 0, block_epoch_ = 0, warp_epoch_ = 0;
  Scope scope_ = Scope::one;
};

/// What is known of one byte of device memory. All zero: nothing.
struct Note {
  uint32_t launch;    ///< in which it was accessed last
  bool is_written;    ///< ever since its allocation
  bool is_under_way;  ///< an asynchronous copy to it
  Accessors writer, readers, atomics;
};

}  // namespace emulator
