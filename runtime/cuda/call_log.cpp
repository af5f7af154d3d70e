// A ring of calls.
#include "runtime/cuda/call_log.h"

#include <atomic>

#include "runtime/kernel.h"
#include "support/text.h"

namespace kw {

constexpr size_t most_calls = 64;  // chosen: a loop around a few kernels shows which of them it was

static thread_local uint64_t present_number = 0;
static std::atomic<uint64_t> last_number{0};

uint64_t number_of_thread() {
  if (present_number == 0) present_number = ++last_number;
  return present_number;
}
uint64_t newest_thread() { return last_number; }

ActingFor::ActingFor(uint64_t thread) : before_(number_of_thread()) {
  if (thread != 0) present_number = thread;
}
ActingFor::~ActingFor() { present_number = before_; }

uint64_t CallLog::add(const LoadedKernel &kernel, std::span<const int64_t> extents, const CallPlace *place) {
  std::shared_ptr<const LoadedKernel> dropped;  // may free its code: without the lock
  std::scoped_lock lock(mutex_);
  if (calls_.size() < most_calls) {
    calls_.emplace_back();
  } else {
    // the memory of the oldest entry is used again
    calls_.push_back(std::move(calls_.front()));
    calls_.pop_front();
  }
  StartedCall &call = calls_.back();
  call.number = ++newest_;
  dropped = std::exchange(call.kernel, kernel.shared_from_this());
  call.extents.assign(extents.begin(), extents.end());
  call.thread = number_of_thread();
  call.place = place;
  unfinished_.push_back(newest_);
  return newest_;
}

void CallLog::finish(uint64_t number) {
  std::scoped_lock lock(mutex_);
  std::erase(unfinished_, number);
}

uint64_t CallLog::finished() const {
  std::scoped_lock lock(mutex_);
  return unfinished_.empty() ? newest_ : unfinished_.front() - 1;  // they are in order
}

std::optional<StartedCall> CallLog::find(uint64_t number) const {
  std::scoped_lock lock(mutex_);
  for (const StartedCall &c : calls_)
    if (c.number == number) return c;
  return std::nullopt;
}

uint64_t CallLog::newest() const {
  std::scoped_lock lock(mutex_);
  return newest_;
}

std::vector<std::string> CallLog::last_calls(size_t count) const {
  std::scoped_lock lock(mutex_);
  std::vector<std::string> out;
  for (size_t i = calls_.size(); i-- > 0 && out.size() < count;) {
    const LoadedKernel &kernel = *calls_[i].kernel;
    out.push_back(cat("call ", calls_[i].number, ": '", kernel.artifact().name, "'", kernel.place_text()));
  }
  return out;
}

}  // namespace kw
