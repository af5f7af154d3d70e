// Detects the host without LLVM: CPUID through the compiler's builtins.
#include "support/target.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "support/diagnostic.h"
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

bool has_all(const std::vector<std::string> &features, std::span<const std::string_view> wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view name) {
    return std::binary_search(features.begin(), features.end(), name, std::less<>{});
  });
}

const Machine &richest(bool is_x86, const std::vector<std::string> &features) {
  std::span<const Machine> all = machines(is_x86);
  const Machine *best = &all.front();
  for (const Machine &m : all)
    if (has_all(features, m.features)) best = &m;
  return *best;
}

Target target_of(const Machine &m) {
  return {m.is_x86 ? "x86_64-unknown-linux-gnu" : "aarch64-unknown-linux-gnu",
          {m.features.begin(), m.features.end()},
          {}};
}

/// Returns the features of this processor, as far as some class has them.
std::vector<std::string> cpu_features() {
  std::vector<std::string> out;
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
  std::sort(out.begin(), out.end());
#else
  out.emplace_back("neon");
#endif
  return out;
}

constexpr bool host_is_x86() {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

/// Sets the grain from "grain=N"; returns the error in the word.
std::string set_grain(Target &t, std::string_view word) {
  constexpr std::string_view key = "grain=";
  uint32_t grain = 0;
  const char *end = word.data() + word.size();
  auto read = word.starts_with(key) ? std::from_chars(word.data() + key.size(), end, grain)
                                    : std::from_chars_result{word.data(), std::errc::invalid_argument};
  if (read.ec != std::errc{} || read.ptr != end || grain > 40)
    return cat("KW_TARGET: '", word, "' is not grain=N with N from 0 to 40");
  t.grain = grain;
  return {};
}

/// Returns the architecture of a name, which may end with one of its suffixes; null for other names.
const GpuMachine *gpu_machine_of(std::string_view name) {
  for (const GpuMachine &m : gpu_machines()) {
    if (!name.starts_with(m.name)) continue;
    std::string_view suffix = name.substr(m.name.size());
    if (suffix.empty() || (suffix.size() == 1 && m.suffixes.find(suffix) != std::string_view::npos))
      return &m;
  }
  return nullptr;
}

}  // namespace

const GpuMachine &Target::gpu() const {
  const GpuMachine *m = gpu_machine_of(arch);
  ensure(m != nullptr, cat("'", arch, "' is no architecture of GPUs"));
  return *m;
}

std::string Target::class_name() const { return is_gpu() ? arch : std::string(machine().name); }

const Machine &Target::machine() const {
  ensure(!is_gpu(), "a GPU has no class of processors");
  std::span<const Machine> all = machines(triple.starts_with("x86_64"));
  const Machine *found = &all.front();
  for (const Machine &m : all)
    if (has(m.defining)) found = &m;
  return *found;
}

std::optional<Target> target_of_class(std::string_view name) {
  for (bool is_x86 : {true, false})
    for (const Machine &m : machines(is_x86))
      if (m.name == name) return target_of(m);
  if (!gpu_machine_of(name)) return std::nullopt;
  return Target{"nvptx64-nvidia-cuda", {"bf16", "fma", "half"}, {}, std::string(name)};
}

const Target &host_target() {
  static const Target t = target_of(richest(host_is_x86(), cpu_features()));
  return t;
}

bool runs_on(const Target &target, const Target &host) {
  return target.triple == host.triple && std::includes(host.features.begin(), host.features.end(),
                                                       target.features.begin(), target.features.end());
}

NamedTarget parse_target(std::string_view text, const Target &host) {
  NamedTarget out{host, {}};
  std::string_view name = text.substr(0, text.find(',')), rest = text.substr(name.size());
  if (name == "avx512" || name == "avx2" || name == "generic") {
    out.target = *target_of_class(name);
    if (!runs_on(out.target, host))
      out = {host, cat("KW_TARGET: this processor cannot run code for '", name, "'")};
  } else if (!name.empty() && name != "host") {
    out.error =
        cat("KW_TARGET: there is no target '", name, "'; the targets are: host, avx512, avx2, generic");
  }
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
