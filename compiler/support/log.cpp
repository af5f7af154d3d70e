// The records of the process.
#include "support/log.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "support/fork_mutex.h"

namespace kw {

namespace {

constexpr size_t most_records = 256;  // chosen: a few compilations make a handful

struct Records {
  ForkMutex mutex;
  std::vector<LogRecord> all;
};
std::atomic<bool> has_records{false};

Records &records() {
  static Records r;
  return r;
}

}  // namespace

void log_message(LogArea area, LogLevel level, std::string text) {
  Records &r = records();
  std::scoped_lock lock(r.mutex);
  if (r.all.size() == most_records) r.all.erase(r.all.begin());
  r.all.push_back({area, level, std::move(text)});
  has_records.store(true, std::memory_order_release);
}

bool has_log_records() { return has_records.load(std::memory_order_acquire); }

std::vector<LogRecord> take_log_records() {
  Records &r = records();
  std::scoped_lock lock(r.mutex);
  has_records.store(false, std::memory_order_release);
  return std::exchange(r.all, {});
}

}  // namespace kw
