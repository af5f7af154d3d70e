// Hands the messages of the core (support/log) to Python's logging. Warnings always; others only if the
// program has imported logging, because nobody else can have asked for them.
#pragma once

#include "support/log.h"

namespace kw {

/// Needs the GIL. Keeps a pending exception, and raises none.
void pass_on_log();

/// Passes on what is logged during its life.
struct LogPasser {
  LogPasser() = default;
  LogPasser(const LogPasser &) = delete;
  ~LogPasser() {
    if (has_log_records()) pass_on_log();
  }
};

}  // namespace kw
