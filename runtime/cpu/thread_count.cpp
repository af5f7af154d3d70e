// The affinity mask, and the quotas of control groups of both versions. Files of the kernel are read once.
#include "runtime/cpu/thread_count.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/memory/control_groups.h"
#include "support/files.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the number at the start of a text; nothing for a text like "max".
std::optional<int64_t> leading_integer(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

/// Returns time per period as a number of processors, rounded up; nothing for "max" and -1.
std::optional<uint32_t> share(std::optional<int64_t> quota, std::optional<int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<uint32_t>(std::min<int64_t>((*quota - 1) / *period + 1, max_threads));
}

/// Returns the limit of one group, from "200000 100000" or "max 100000" in one file, or from two files.
std::optional<uint32_t> limit_of(const std::string &folder, bool second_version) {
  if (!second_version)
    return share(leading_integer(read_file(folder + "/cpu.cfs_quota_us")),
                 leading_integer(read_file(folder + "/cpu.cfs_period_us")));
  std::string both = read_file(folder + "/cpu.max");
  size_t space = both.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return share(leading_integer(both), leading_integer(std::string_view(both).substr(space + 1)));
}

}  // namespace

std::optional<uint32_t> quota_threads(const std::string &root) {
  std::optional<uint32_t> least;
  for_each_control_group(root, "cpu", [&](const std::string &folder, bool second_version) {
    if (auto limit = limit_of(folder, second_version)) least = std::min(least.value_or(*limit), *limit);
  });
  return least;
}

uint32_t available_threads() {
  uint32_t n = 0;
#if defined(__linux__)
  for (size_t bits = 1024; bits <= size_t{1} << 18 && n == 0; bits *= 4) {  // too short a mask is refused
    std::vector<cpu_set_t> mask(bits / (8 * sizeof(cpu_set_t)));
    size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) == 0)
      n = static_cast<uint32_t>(CPU_COUNT_S(bytes, mask.data()));
  }
#endif
  if (n == 0) n = std::thread::hardware_concurrency();
  if (auto quota = quota_threads("")) n = std::min(n, *quota);
  return std::clamp(n, uint32_t{1}, max_threads);
}

std::optional<uint32_t> parse_thread_count(std::string_view text) {
  uint32_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  // "4 threads" or "4.5" is not a thread count
  bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && n >= 1 && n <= max_threads ? std::optional(n) : std::nullopt;
}

std::string thread_count_problem() {
  const char *text = std::getenv("KW_THREADS");
  if (!text || !*text || parse_thread_count(text)) return {};
  return cat("KW_THREADS is '", text, "', which is no number of threads: give a whole number from 1 to ",
             max_threads);
}

void set_thread_count(uint32_t n) { detail::thread_count.store(n, std::memory_order_relaxed); }

uint32_t detail::decide_thread_count() {
  const char *text = std::getenv("KW_THREADS");
  auto asked = text ? parse_thread_count(text) : std::nullopt;
  uint32_t undecided = 0, n = asked ? *asked : available_threads();
  // another thread may have set a number meanwhile
  return thread_count.compare_exchange_strong(undecided, n, std::memory_order_relaxed) ? n : undecided;
}

}  // namespace kw
