// Looks up what the emitter made for a symbol or buffer. A look-up that fails names what is missing. Knows no
// LLVM, so that it can be tested without LLVM.
#pragma once

#include "ir/node.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

inline const std::string &name_of(const SymNode &s) { return s.name; }
inline const std::string &name_of(const BufNode &b) { return b.sym->name; }

/// Returns the entry of a symbol or buffer. Throws an internal error if it is not in scope.
template <class Map>
auto &entry_of(Map &map, typename std::remove_const_t<Map>::key_type key) {
  auto found = map.find(key);
  if (found == map.end())
    internal_error(__FILE__, __LINE__, cat("the emitter has no value for '", name_of(*key), "'"));
  return found->second;
}

}  // namespace kw
