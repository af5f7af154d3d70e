// What the environment asks of the stand-in of the driver: KW_EMULATOR_DEVICES="90,80" (compute
// capabilities), KW_EMULATOR_MEMORY (bytes of each device), KW_EMULATOR_SEED, KW_EMULATOR_VERSION,
// KW_EMULATOR_FAIL="cuInit=100" (results of functions), KW_EMULATOR_LAUNCHES="none" (launches do nothing).
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

/// Returns the value of a variable of the environment, or `otherwise` if it has none.
inline std::string setting(const char *name, const char *otherwise) {
  const char *given = std::getenv(name);
  return given && *given ? given : otherwise;
}

/// Returns the result that the environment wants of a function.
inline int wanted(const char *function) {
  // read once, because benchmarks measure calls; kept, because threads call until the process is gone
  static const std::string &all = *new std::string(setting("KW_EMULATOR_FAIL", ""));
  if (all.empty()) return 0;
  size_t at = all.find(std::string(function) + "=");
  return at == std::string::npos ? 0 : std::atoi(all.c_str() + at + std::strlen(function) + 1);
}

/// Returns the compute capabilities of the devices, as the environment had them at the first question.
inline const std::vector<int> &capabilities() {
  static std::vector<int> out;
  if (!out.empty()) return out;
  std::string all = setting("KW_EMULATOR_DEVICES", "90");
  for (const char *p = all.c_str(); *p;) {
    out.push_back(std::atoi(p));
    p = std::strchr(p, ',');
    if (!p++) break;
  }
  return out;
}
