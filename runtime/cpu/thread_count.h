// How many threads a kernel may use: what the user said, else what the system gives this process. Starts none
// of them (runtime/cpu/pool).
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

/// Threads of the runs that begin now, the caller among them; from 1 to max_threads.
inline uint32_t thread_count() {
  uint32_t n = detail::thread_count.load(std::memory_order_relaxed);
  return n ? n : detail::decide_thread_count();
}
/// For runs that begin later; n from 1 to max_threads.
void set_thread_count(uint32_t n);

/// A whole number from 1 to max_threads, or nothing.
std::optional<uint32_t> parse_thread_count(std::string_view text);
/// What is wrong with KW_THREADS, or ""; the default is used then.
std::string thread_count_problem();

/// Processors that this process may run on, cut to the quota of its control group.
uint32_t available_threads();
/// Processors' worth of time that the control groups of this process allow, rounded up, or nothing without a
/// limit. `root` stands before /proc and /sys (tests).
std::optional<uint32_t> quota_threads(const std::string &root);

}  // namespace kw
