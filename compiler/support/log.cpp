// The records of the process.
#include "support/log.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>
#include <utility>

namespace kw {

namespace {

constexpr size_t most_records = 256;  // chosen: a few compilations make a handful

struct Records {
  Records();
  std::mutex mutex;
  std::vector<LogRecord> all;
};
Records &records() {
  static auto *const r = new Records;  // never destroyed: other statics log
  return *r;
}

/// A fork waits for the thread that adds a record, so that the child gets whole ones.
Records::Records() {
  if (pthread_atfork([] { records().mutex.lock(); }, [] { records().mutex.unlock(); },
                     [] { records().mutex.unlock(); }))
    throw std::bad_alloc();
}

// When the library is loaded: the handlers of fork run in reverse order, and those that wait for threads that
// log must run before these.
[[maybe_unused]] const Records &opened = records();

}  // namespace

std::atomic<bool> log_has_records{false};

static void keep(LogRecord record) {
  Records &r = records();
  std::scoped_lock lock(r.mutex);
  if (r.all.size() == most_records) r.all.erase(r.all.begin());
  r.all.push_back(std::move(record));
  log_has_records.store(true, std::memory_order_release);
}

void log_message(LogArea area, LogLevel level, std::string text) { keep({area, level, std::move(text)}); }

void log_warning(Resolved warning) { keep({LogArea::compile, LogLevel::warning, {}, std::move(warning)}); }

std::vector<LogRecord> take_log_records() {
  Records &r = records();
  std::scoped_lock lock(r.mutex);
  log_has_records.store(false, std::memory_order_release);
  return std::exchange(r.all, {});
}

}  // namespace kw
