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
constexpr size_t most_kept = 1024;  // chosen: faults of threads that look seldom

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
  if (entries_.size() == most_kept) {
    bool is_seen = entries_.front().is_seen_by_owner;
    entries_.pop_front(), ++begin_;
    // the next one tells of this one as well
    LateFault &next = entries_.front().fault;
    if (!is_seen) next.call.reset(), next.is_lost = true;
  }
  Entry &e = entries_.emplace_back();
  e.fault.record = record;
  e.newest_thread = newest_thread();
  return e;
}

/// Reads what the device has found since. The caller holds the lock, so that threads which see the fault wait
/// here before they start further calls.
void FaultLog::collect() {
  const CudaDriver &driver = device_.driver();
  unread_.clear();
  while (device_.words().faults != records_ + lost_ && unread_.empty()) {
    // Calls after this one may have further launches, which look for a fault of an earlier launch; work that
    // has not ended may find a fault that comes before the first one in source order.
    uint64_t finished = device_.calls().finished();
    device_.check(driver.cuCtxSynchronize(), "cuCtxSynchronize");
    FaultMemory now{};
    CuStream stream = legacy_stream();
    device_.check(driver.cuMemcpyDtoHAsync_v2(&now, memory_, sizeof now, stream), "cuMemcpyDtoHAsync");
    device_.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    auto record = [&](uint64_t i) -> const FaultRecord & { return now.record[i % most_faults]; };
    for (; records_ < now.records && record(records_).call <= finished; ++records_) {
      LateFault &fault = add(record(records_)).fault;
      fault.call = device_.calls().find(fault.record.call);
    }
    for (uint64_t i = records_; i < now.records; ++i) unread_.push_back(record(i).call);
    if (unread_.empty() && now.lost != lost_) {
      add({finished, 0, 0, 0, 0, 0}).fault.is_lost = true;
      lost_ = now.lost;
    }
    std::array<uint64_t, 2> read = {records_, lost_};
    device_.check(
        driver.cuMemcpyHtoDAsync_v2(memory_ + offsetof(FaultMemory, read), read.data(), sizeof read, stream),
        "cuMemcpyHtoDAsync");
    device_.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
  }
}

/// Returns what a thread has raised. Threads that have raised nothing of what is kept are forgotten.
FaultLog::Raised &FaultLog::raised_by(uint64_t thread) {
  constexpr size_t most_threads = 1024;  // chosen: then most of them have ended
  if (raised_.size() > most_threads)
    std::erase_if(raised_,
                  [&](const auto &r) { return std::max(r.second.forgotten, r.second.others) <= begin_; });
  return raised_[thread];
}

/// Returns whether a thread need not raise a fault, or has.
bool FaultLog::is_over(const Entry &e, uint64_t position, uint64_t thread, const Raised &raised,
                       Whose whose) const {
  if (e.fault.call && e.fault.call->thread == thread) return e.is_seen_by_owner;
  if (thread > e.newest_thread && e.is_seen) return true;  // it began later
  // a call that is forgotten may be of this thread
  return e.fault.call ? whose == Whose::own || position < raised.others : position < raised.forgotten;
}

std::optional<LateFault> FaultLog::take(Whose whose) {
  uint64_t faults = device_.words().faults;
  if (faults == 0 || (whose == Whose::own && faults == quiet_)) [[likely]]
    return std::nullopt;
  std::scoped_lock lock(mutex_);
  collect();
  uint64_t thread = number_of_thread(), count = 0;
  bool is_more = false;
  Raised &raised = raised_by(thread);
  auto is_own = [&](const Entry &e) { return e.fault.call && e.fault.call->thread == thread; };
  Entry *first = nullptr;
  for (uint64_t i = 0; i < entries_.size(); ++i) {
    Entry &e = entries_[i];
    if (is_over(e, begin_ + i, thread, raised, whose)) continue;
    e.is_seen = true;
    if (is_own(e)) e.is_seen_by_owner = true;
    ++count, is_more = is_more || e.fault.is_lost;
    if (!first || (is_own(e) && !is_own(*first))) first = &e;
  }
  raised.forgotten = end();
  if (whose == Whose::all) raised.others = end();
  note_quiet();
  if (!first) return std::nullopt;
  LateFault out = first->fault;
  out.is_of_other_thread = out.call && !is_own(*first);
  out.others = count - 1, out.others_are_more = is_more;
  return out;
}

/// Notes whether threads that start calls have nothing to raise until the device finds a further fault.
void FaultLog::note_quiet() {
  bool quiet = unread_.empty() && std::all_of(entries_.begin(), entries_.end(), [](const Entry &e) {
                 return e.fault.call ? e.is_seen_by_owner : e.is_seen;
               });
  quiet_ = quiet ? records_ + lost_ : 0;
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
    out->others_are_more = out->others_are_more || e.fault.is_lost;
  }
  return out;
}

bool FaultLog::has_failed(uint64_t call) {
  if (device_.words().faults == 0) [[likely]]
    return false;
  std::scoped_lock lock(mutex_);
  collect();
  if (std::find(unread_.begin(), unread_.end(), call) != unread_.end()) return true;
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry &e) {
    return e.fault.is_lost ? call <= e.fault.record.call : call == e.fault.record.call;
  });
}

}  // namespace kw
