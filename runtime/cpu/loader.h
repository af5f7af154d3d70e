// Loads a relocatable ELF object into executable memory: own loader, because it takes microseconds and
// rejects what core.md 2 does not allow (undefined symbols, other relocations). Any surprise means a corrupt
// entry, so the answer is "no", never a crash.
#pragma once

#include <string>
#include <string_view>

#include "runtime/cpu/map_code.h"

namespace kw {

struct LoadedObject {
  CodeMapping code;
  void *entry = nullptr;
  size_t stack_bytes = 0;  ///< the frames of all functions together
  std::string error;       ///< empty when loaded
};

/// Maps the allocated sections, applies the relocations, finds `symbol`.
LoadedObject load_object(std::string_view bytes, std::string_view symbol);

}  // namespace kw
