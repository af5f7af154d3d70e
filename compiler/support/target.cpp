// Host detection without LLVM: CPUID through the compiler's builtins, cache sizes through sysconf.
#include "support/target.h"

#include <unistd.h>

#include <algorithm>

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

}  // namespace

const Target &host_target() {
  static const Target t = detect();
  return t;
}

}  // namespace kw
