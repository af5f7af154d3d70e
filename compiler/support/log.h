// Messages for people who look after a program: kept until the language that runs kernels hands them to its
// own logging (python/bind/log). Nothing in the product decides anything by logging.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace kw {

enum class LogArea : uint8_t { cache, compile };
/// Numbered as in Python's logging.
enum class LogLevel : uint8_t { debug = 10, info = 20, warning = 30 };

struct LogRecord {
  LogArea area;
  LogLevel level;
  std::string text;
  std::optional<Resolved> warning{};  ///< set: a warning with a code, which is issued as one
};

/// Keeps a record, and drops the oldest beyond 256. Thread-safe.
void log_message(LogArea area, LogLevel level, std::string text);
/// Keeps a warning with a code, which has no place in a source. Thread-safe.
void log_warning(Resolved warning);
/// Whether there are records; read inline, because every call asks.
extern std::atomic<bool> log_has_records;
inline bool has_log_records() { return log_has_records.load(std::memory_order_acquire); }
/// Returns the records in their order and forgets them.
std::vector<LogRecord> take_log_records();

}  // namespace kw
