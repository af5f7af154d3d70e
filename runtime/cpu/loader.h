// Loads a relocatable ELF object into executable memory. This own loader takes microseconds and rejects
// objects that core.md 2 does not allow (undefined symbols, other relocations). Any surprise means a corrupt
// entry: the load fails, and never crashes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/cpu/map_code.h"

namespace kw {

struct LoadedObject {
  CodeMapping code;
  void *entry = nullptr;
  size_t stack_bytes = 0;             ///< the frames of all functions together
  std::vector<uint64_t> addresses{};  ///< of the sections, by their numbers; 0: not in memory
  std::string error;                  ///< empty if loaded
};

/// Loads an object: maps the allocated sections, applies the relocations, finds `symbol`.
LoadedObject load_object(std::string_view bytes, std::string_view symbol);

}  // namespace kw
