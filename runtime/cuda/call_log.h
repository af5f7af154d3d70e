// The kernel calls that the host has started last on a device. A kernel that finds a fault notes the number
// of its call, and the error comes later: then the log knows which call it was.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kw {

class LoadedKernel;

/// What a failed check writes: the record of the device prelude. The fault with the least (call, launch,
/// team, key) stays.
struct FaultRecord {
  uint32_t lock, is_set;
  uint64_t call;    ///< its number in the log
  uint64_t launch;  ///< of the call
  uint64_t team;    ///< iteration of the grid, if a team of threads executes it; else 0
  uint64_t key;     ///< place in source order: iteration · sites + site
  int64_t value, bound;
};

struct StartedCall {
  uint64_t number = 0;
  std::shared_ptr<const LoadedKernel> kernel;
  std::vector<int64_t> extents;  ///< of its arguments
};

/// Thread-safe. Keeps the last 64 calls and their kernels.
class CallLog {
 public:
  /// Adds a call and returns its number; numbers grow from 1.
  uint64_t add(const LoadedKernel &kernel, std::span<const int64_t> extents);
  /// Returns a call that it still knows.
  std::optional<StartedCall> find(uint64_t number) const;
  uint64_t newest() const;
  /// Returns lines that name the last calls, the newest first: "call 17: 'gather' (train.py:12)".
  std::vector<std::string> last_calls(size_t count) const;

 private:
  mutable std::mutex mutex_;
  std::deque<StartedCall> calls_;  ///< the oldest first
  uint64_t newest_ = 0;
};

}  // namespace kw
