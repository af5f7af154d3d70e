// Tells profilers and debuggers of code that is loaded, as KW_DEBUG asks: Linux perf by a map of names
// (perf:map) or a dump of the code (perf:jitdump), and GDB (gdb).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

/// A function in memory.
struct CodeRange {
  std::string name;
  uint64_t address = 0, size = 0;
};

/// Tells of a loaded object, whose sections lie at `addresses`, by their numbers. Its entry gets the name
/// `name`, its other functions names that begin so. Returns what has to live as long as the code; null if
/// nobody asks. Thread-safe. Files that cannot be written are logged once.
std::shared_ptr<void> announce_code(std::string_view object, std::span<const uint64_t> addresses,
                                    const std::string &name);

}  // namespace kw
