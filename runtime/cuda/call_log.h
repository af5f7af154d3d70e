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

#include "runtime/cuda/call_place.h"

namespace kw {

class LoadedKernel;

/// Returns the number of this thread, which it gets here. Numbers are never used again, unlike thread ids of
/// the system. Within ActingFor, returns the number of the thread that it acts for.
uint64_t number_of_thread();
/// Returns the greatest number that a thread has.
uint64_t newest_thread();

/// Gives this thread the number of another one for its lifetime; 0 is the thread itself.
class ActingFor {
 public:
  explicit ActingFor(uint64_t thread);
  ActingFor(const ActingFor &) = delete;
  ~ActingFor();

 private:
  uint64_t before_;
};

struct StartedCall {
  uint64_t number = 0;
  std::shared_ptr<const LoadedKernel> kernel;
  std::vector<int64_t> extents;      ///< of its arguments
  uint64_t thread = 0;               ///< that started it: number_of_thread()
  const CallPlace *place = nullptr;  ///< null if unknown
};

/// Thread-safe. Keeps the last 64 calls and their kernels.
class CallLog {
 public:
  /// Adds a call and returns its number; numbers grow from 1.
  uint64_t add(const LoadedKernel &kernel, std::span<const int64_t> extents, const CallPlace *place);
  /// Says that all launches of a call are in its stream.
  void finish(uint64_t number);
  /// Returns the number up to which all calls have all their launches in their streams.
  uint64_t finished() const;
  /// Returns a call that it still knows.
  std::optional<StartedCall> find(uint64_t number) const;
  uint64_t newest() const;
  /// Returns lines that name the last calls, the newest first: "call 17: 'gather' (train.py:12)".
  std::vector<std::string> last_calls(size_t count) const;

 private:
  mutable std::mutex mutex_;
  std::deque<StartedCall> calls_;  ///< the oldest first
  std::vector<uint64_t> unfinished_;
  uint64_t newest_ = 0;
};

}  // namespace kw
