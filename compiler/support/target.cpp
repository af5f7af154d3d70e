// Host detection without LLVM: CPUID through the compiler's builtins, cache sizes through sysconf.
#include "support/target.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "support/text.h"

namespace kw {

bool Target::has(std::string_view feature) const {
  return std::binary_search(features.begin(), features.end(), feature, std::less<>{});
}

std::string Target::feature_text() const {
  std::string out;
  for (const std::string &f : features) out += (out.empty() ? "+" : ",+") + f;
  return out;
}

namespace {

void add_x86_features([[maybe_unused]] std::vector<std::string> &out) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  auto add = [&](bool has, const char *name) {
    if (has) out.emplace_back(name);
  };
  out.emplace_back("sse2");
  add(__builtin_cpu_supports("sse3"), "sse3");
  add(__builtin_cpu_supports("ssse3"), "ssse3");
  add(__builtin_cpu_supports("sse4.1"), "sse4.1");
  add(__builtin_cpu_supports("sse4.2"), "sse4.2");
  add(__builtin_cpu_supports("popcnt"), "popcnt");
  add(__builtin_cpu_supports("avx"), "avx");
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("bmi"), "bmi");
  add(__builtin_cpu_supports("bmi2"), "bmi2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("f16c"), "f16c");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  add(__builtin_cpu_supports("avx512bw"), "avx512bw");
  add(__builtin_cpu_supports("avx512dq"), "avx512dq");
  add(__builtin_cpu_supports("avx512vl"), "avx512vl");
#endif
}

Target detect() {
  Target t;
#if defined(__aarch64__)
  t.triple = "aarch64-unknown-linux-gnu";
  t.features = {"neon"};
#else
  t.triple = "x86_64-unknown-linux-gnu";
#endif
  add_x86_features(t.features);
  std::sort(t.features.begin(), t.features.end());
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  if (auto n = sysconf(_SC_LEVEL1_DCACHE_SIZE); n > 0) t.l1_bytes = static_cast<uint32_t>(n);
  if (auto n = sysconf(_SC_LEVEL2_CACHE_SIZE); n > 0) t.l2_bytes = static_cast<uint32_t>(n);
#endif
  return t;
}

/// What a lesser x86 target does not have.
void remove_features(Target &t, std::initializer_list<std::string_view> from) {
  std::erase_if(t.features, [&](const std::string &f) {
    return std::any_of(from.begin(), from.end(), [&](std::string_view name) { return f.starts_with(name); });
  });
}

/// By "grain=N"; returns what is wrong with it.
std::string set_grain(Target &t, std::string_view word) {
  constexpr std::string_view key = "grain=";
  uint32_t grain = 0;
  const char *end = word.data() + word.size();
  auto read = word.starts_with(key) ? std::from_chars(word.data() + key.size(), end, grain)
                                    : std::from_chars_result{word.data(), std::errc::invalid_argument};
  if (read.ec != std::errc{} || read.ptr != end || grain > 40)
    return cat("KW_TARGET: '", word, "' is not grain=N with N from 0 to 40");
  t.log2_work_per_thread = grain;
  return {};
}

}  // namespace

const Target &host_target() {
  static const Target t = detect();
  return t;
}

NamedTarget parse_target(std::string_view text, const Target &host) {
  NamedTarget out{host, {}};
  std::string_view name = text.substr(0, text.find(',')), rest = text.substr(name.size());
  bool is_x86 = host.triple.starts_with("x86_64");
  bool has_avx512 =
      host.has("avx512f") && host.has("avx512bw") && host.has("avx512dq") && host.has("avx512vl");
  bool is_host = name.empty() || name == "host" || (name == "avx512" && has_avx512);
  if (name == "avx2" && host.has("avx2") && host.has("fma"))
    remove_features(out.target, {"avx512"});
  else if (name == "generic" && is_x86)
    remove_features(out.target, {"avx", "fma", "f16c", "bmi"});
  else if (name == "avx512" || name == "avx2" || name == "generic")
    out.error = is_host ? "" : cat("KW_TARGET: this processor cannot run code for '", name, "'");
  else if (!is_host)
    out.error =
        cat("KW_TARGET: there is no target '", name, "'; the targets are: host, avx512, avx2, generic");
  if (!rest.empty() && out.error.empty()) out.error = set_grain(out.target, rest.substr(1));
  return out;
}

const NamedTarget &kernel_target() {
  static const NamedTarget t = [] {
    const char *name = std::getenv("KW_TARGET");
    return parse_target(name ? name : "", host_target());
  }();
  return t;
}

}  // namespace kw
