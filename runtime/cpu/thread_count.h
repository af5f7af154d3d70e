// The number of threads that a kernel may use: the user's setting, else the limit that the system gives this
// process. Starts no threads (runtime/cpu/pool does).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

inline constexpr uint32_t max_threads = 1024;

namespace detail {
inline std::atomic<uint32_t> thread_count{0};  ///< 0: not decided yet
uint32_t decide_thread_count();
}  // namespace detail

/// Returns the number of threads of runs that begin now, the caller included; from 1 to max_threads.
inline uint32_t thread_count() {
  uint32_t n = detail::thread_count.load(std::memory_order_relaxed);
  return n ? n : detail::decide_thread_count();
}
/// Sets the number of threads of later runs; n from 1 to max_threads.
void set_thread_count(uint32_t n);

/// Returns a whole number from 1 to max_threads; nothing for other texts.
std::optional<uint32_t> parse_thread_count(std::string_view text);
/// Returns the error in KW_THREADS, or ""; if there is an error, the default is used.
std::string thread_count_problem();

/// Returns the number of processors that this process may run on, limited by the quota of its control group.
uint32_t available_threads();
/// Returns the number of processors whose time the control groups of this process allow, rounded up; nothing
/// without a limit. `root` is a prefix of /proc and /sys (tests).
std::optional<uint32_t> quota_threads(const std::string &root);

}  // namespace kw
