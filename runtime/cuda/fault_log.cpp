// Reads the faults of a device, and notes which thread has raised them.
#include "runtime/cuda/fault_log.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "runtime/cuda/device.h"

namespace kw {

namespace {

constexpr size_t most_faults = 64;  // chosen: as many as the log of calls can name

/// What the prelude's `kw_faults` holds. The host writes the fields that say what it has read.
struct FaultMemory {
  uint32_t lock, unused;
  uint64_t records, lost;
  std::array<uint64_t, 2> read;  ///< records and lost ones
  std::array<FaultRecord, most_faults> record;
};

}  // namespace

void FaultLog::open() {
  memory_ = device_.memory().allocate(sizeof(FaultMemory), legacy_stream());
  device_.check(device_.driver().cuMemsetD8Async(memory_, 0, sizeof(FaultMemory), legacy_stream()),
                "cuMemsetD8Async");
}

FaultLog::Entry &FaultLog::add(const FaultRecord &record) {
  if (entries_.size() == most_faults) entries_.pop_front(), ++begin_;
  Entry &e = entries_.emplace_back();
  e.fault.record = record;
  return e;
}

/// Reads what the device has found since. The caller holds the lock, so that threads which see the fault wait
/// here before they start further calls.
void FaultLog::collect() {
  const CudaDriver &driver = device_.driver();
  while (device_.words().faults != records_ + lost_) {
    uint64_t newest = device_.calls().newest();
    // work that has not ended may find a fault that comes before the first one in source order
    device_.check(driver.cuCtxSynchronize(), "cuCtxSynchronize");
    FaultMemory now{};
    CuStream stream = legacy_stream();
    device_.check(driver.cuMemcpyDtoHAsync_v2(&now, memory_, sizeof now, stream), "cuMemcpyDtoHAsync");
    device_.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    bool is_settled = true;
    for (uint64_t i = records_; i < now.records; ++i)
      is_settled = is_settled && now.record[i % most_faults].call <= newest;
    if (!is_settled) continue;  // calls that began meanwhile
    for (uint64_t i = records_; i < now.records; ++i) {
      LateFault &fault = add(now.record[i % most_faults]).fault;
      fault.call = device_.calls().find(fault.record.call);
    }
    if (now.lost != lost_) add({newest, 0, 0, 0, 0, 0}).fault.is_lost = true;
    records_ = now.records, lost_ = now.lost;
    std::array<uint64_t, 2> read = {records_, lost_};
    device_.check(
        driver.cuMemcpyHtoDAsync_v2(memory_ + offsetof(FaultMemory, read), read.data(), sizeof read, stream),
        "cuMemcpyHtoDAsync");
    device_.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
  }
}

/// Returns what a thread has raised. For a new one, faults that others have raised are over.
FaultLog::Raised &FaultLog::raised_by(uint64_t thread) {
  constexpr size_t most_threads = 1024;  // chosen: then most of them have ended
  if (raised_.size() > most_threads) raised_.clear();
  auto unseen = std::find_if(entries_.begin(), entries_.end(), [](const Entry &e) { return !e.is_seen; });
  uint64_t begin = begin_ + static_cast<uint64_t>(unseen - entries_.begin());
  return raised_.try_emplace(thread, Raised{begin, begin}).first->second;
}

std::optional<LateFault> FaultLog::take(Whose whose) {
  if (device_.words().faults == 0) [[likely]]
    return std::nullopt;
  std::scoped_lock lock(mutex_);
  collect();
  uint64_t thread = number_of_thread(), count = 0;
  Raised &raised = raised_by(thread);
  auto is_own = [&](const Entry &e) { return e.fault.call && e.fault.call->thread == thread; };
  Entry *first = nullptr;
  for (uint64_t i = 0; i < entries_.size(); ++i) {
    Entry &e = entries_[i];
    bool own = is_own(e), is_forgotten = !e.fault.call;  // which may be of this thread
    bool is_over = own            ? e.is_seen_by_owner
                   : is_forgotten ? begin_ + i < raised.forgotten
                                  : begin_ + i < raised.others || whose == Whose::own;
    if (is_over) continue;
    e.is_seen = true;
    if (own) e.is_seen_by_owner = true;
    ++count;
    if (!first || (own && !is_own(*first))) first = &e;
  }
  raised.forgotten = end();
  if (whose == Whose::all) raised.others = end();
  if (!first) return std::nullopt;
  LateFault out = first->fault;
  out.is_of_other_thread = out.call && !is_own(*first);
  out.others = count - 1;
  return out;
}

std::optional<LateFault> FaultLog::take_unseen() {
  if (device_.words().faults == 0) return std::nullopt;
  std::scoped_lock lock(mutex_);
  collect();
  std::optional<LateFault> out;
  for (Entry &e : entries_) {
    if (std::exchange(e.is_seen, true)) continue;
    if (out)
      ++out->others;
    else
      out = e.fault;
  }
  return out;
}

bool FaultLog::has_failed(uint64_t call) {
  if (device_.words().faults == 0) [[likely]]
    return false;
  std::scoped_lock lock(mutex_);
  collect();
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry &e) {
    return e.fault.is_lost ? call <= e.fault.record.call : call == e.fault.record.call;
  });
}

}  // namespace kw
