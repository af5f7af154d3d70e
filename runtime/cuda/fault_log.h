// The faults of the kernels on a device. A failed check writes a record to memory of the device, and the call
// goes on; each thread that may be concerned raises the error once: when it calls, copies or waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/cuda/call_log.h"
#include "runtime/cuda/driver.h"

namespace kw {

class CudaDevice;

/// A fault as the device writes it: the first of its call in the order of (launch, team, key).
struct FaultRecord {
  uint64_t call;    ///< its number in the log of calls
  uint64_t launch;  ///< of the call
  uint64_t team;    ///< iteration of the grid, if a team of threads executes it; else 0
  uint64_t key;     ///< place in source order: iteration · sites + site
  int64_t value, bound;
};

/// The fault of a call, for the thread that raises it.
struct LateFault {
  FaultRecord record{};
  std::optional<StartedCall> call;  ///< none if more calls came after it than the log keeps
  bool is_lost = false;             ///< no room was left: faults of calls up to `record.call`
  bool is_of_other_thread = false;
  uint64_t others = 0;           ///< faults of other calls that the same error tells of
  bool others_are_more = false;  ///< some calls are not counted, because no room was left
};

/// Thread-safe. The device has room for the faults of 64 calls that the host has not read; of those that fail
/// after them it counts the threads. The host keeps 1,024 faults, for threads that have not looked yet.
class FaultLog {
 public:
  /// Whose faults a thread raises. A thread that starts a call sees no values, so the faults of other threads
  /// can wait until it reads some.
  enum class Whose { own, all };

  explicit FaultLog(CudaDevice &device) : device_(device) {}
  FaultLog(const FaultLog &) = delete;
  /// Makes the memory on the device, whose context must be current.
  void open();
  /// Returns the address of the prelude's `kw_faults`.
  CuPointer memory() const { return memory_; }

  /// Returns the first fault that this thread has not raised, one of its own calls if there is one, and notes
  /// all of them as raised. Waits for the device if the host has not read them yet.
  std::optional<LateFault> take(Whose whose);
  /// Returns the first fault that no thread has raised.
  std::optional<LateFault> take_unseen();
  /// Returns whether a call has found a fault, or may have.
  bool has_failed(uint64_t call);

 private:
  struct Entry {
    LateFault fault;
    bool is_seen = false;           ///< a thread has raised it
    bool is_seen_by_owner = false;  ///< the one that made the call has
    uint64_t newest_thread = 0;     ///< threads up to this number may have seen a value of the call
  };
  /// What a thread has raised: the faults of forgotten calls, and those of other threads, before these
  /// positions.
  struct Raised {
    uint64_t forgotten = 0, others = 0;
  };

  void collect();
  Entry &add(const FaultRecord &record);
  Raised &raised_by(uint64_t thread);
  bool is_over(const Entry &e, uint64_t position, uint64_t thread, const Raised &raised, Whose whose) const;
  void note_quiet();
  uint64_t end() const { return begin_ + entries_.size(); }

  CudaDevice &device_;
  CuPointer memory_ = 0;
  std::mutex mutex_;
  std::deque<Entry> entries_;
  std::unordered_map<uint64_t, Raised> raised_;  ///< by numbers of threads
  uint64_t begin_ = 0;                           ///< the first entry's position among all of the process
  uint64_t records_ = 0, lost_ = 0;              ///< what the host has read
  std::vector<uint64_t> unread_;                 ///< calls with faults that have further launches to come
  std::atomic<uint64_t> quiet_ = 0;              ///< the count of faults at which no call has one to raise
};

}  // namespace kw
