// Parses KW_DEBUG and holds the options in force.
#include "support/options.h"

#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "support/machine.h"
#include "support/text.h"

namespace kw {

namespace {

constexpr std::string_view known_words =
    "dump:after=PASS, dump:dir=DIR, kernel=GLOB, time, verify=each, interp, interp:TARGET, cache=off, "
    "perf:map, perf:jitdump, gdb, wait";

constexpr std::string_view interp_for = "interp:";
constexpr uint8_t as_written = 1;

/// Returns `as_written`, or the number of the class of machine over all architectures; 0 for machine code or
/// an unknown class.
uint8_t mode_of(const DebugOptions &o) {
  if (o.interp_target.empty()) return o.interp ? as_written : 0;
  uint8_t mode = as_written;
  for (bool is_x86 : {true, false})
    for (const Machine &m : machines(is_x86))
      if (++mode; m.name == o.interp_target) return mode;
  for (const GpuMachine &m : gpu_machines())
    if (++mode; m.name == o.interp_target) return mode;
  return 0;
}

/// Applies one word; returns false when it is not known.
bool apply_word(DebugOptions &o, std::string_view key, std::string_view value) {
  if (key == "dump:after" && !value.empty()) return o.dump_after.emplace_back(value), true;
  if (key == "dump:dir" && !value.empty()) return o.dump_dir = value, true;
  if (key == "kernel" && !value.empty()) return o.kernel = value, true;
  if (key == "time" && value.empty()) return o.time = true;
  if (key == "verify" && value == "each") return o.verify_each = true;
  if (key == "interp" && value.empty()) return o.interp = true;
  if (key.starts_with(interp_for) && value.empty()) {
    o.interp_target = key.substr(interp_for.size());
    return o.interp = mode_of(o) > as_written;
  }
  if (key == "cache" && value == "off") return o.cache = false, true;
  if (key == "perf:map" && value.empty()) return o.perf_map = true;
  if (key == "perf:jitdump" && value.empty()) return o.jitdump = true;
  if (key == "gdb" && value.empty()) return o.gdb = true;
  if (key == "wait" && value.empty()) return o.wait = true;
  return false;
}

/// The options in force. They are read without a lock, which a child of fork could find locked. Earlier
/// options stay allocated: a thread may still read them.
struct State {
  std::atomic<const DebugOptions *> options{nullptr};
  std::mutex mutex;  ///< guards `all`
  std::deque<DebugOptions> all;
};

std::atomic<uint8_t> mode{0};

State &state() {
  static State s;
  return s;
}

/// Puts options in force; with `only_first`, only if none are in force yet.
const DebugOptions &put_in_force(DebugOptions options, bool only_first) {
  State &s = state();
  std::scoped_lock lock(s.mutex);
  if (only_first && !s.all.empty()) return s.all.back();
  s.all.push_back(std::move(options));
  s.options.store(&s.all.back(), std::memory_order_release);
  mode.store(mode_of(s.all.back()), std::memory_order_relaxed);
  return s.all.back();
}

}  // namespace

ParsedDebug parse_debug(std::string_view text) {
  ParsedDebug out;
  for (const std::string &part : split_text(text, ';')) {
    std::string_view word = trim(part);
    if (word.empty()) continue;
    size_t equals = word.find('=');
    std::string_view key = trim(word.substr(0, equals));
    std::string_view value = equals == std::string_view::npos ? "" : trim(word.substr(equals + 1));
    if (apply_word(out.options, key, value)) continue;
    out.error = key == "log" ? "KW_DEBUG: log= is gone; set KW_LOG=info, or a level of Python's logging"
                             : cat("KW_DEBUG: unknown word '", word, "'; the words are: ", known_words);
    return out;
  }
  return out;
}

const DebugOptions &debug_options() {
  if (const DebugOptions *options = state().options.load(std::memory_order_acquire)) return *options;
  const char *env = std::getenv("KW_DEBUG");
  ParsedDebug parsed = parse_debug(env ? env : "");
  return put_in_force(parsed.error.empty() ? std::move(parsed.options) : DebugOptions{}, true);
}

void set_debug_options(DebugOptions options) { put_in_force(std::move(options), false); }

uint8_t execution_mode() { return mode.load(std::memory_order_relaxed); }

std::string_view fp_name(FpMode fp) {
  return fp == FpMode::strict ? "strict" : fp == FpMode::fast ? "fast" : "default";
}

}  // namespace kw
