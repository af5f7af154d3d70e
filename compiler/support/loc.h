// Source locations. Every AST node, IR node and diagnostic carries one. They are data, which a SourceMap
// resolves to text only for display. Nothing here depends on files or lines.
#pragma once

#include <cstdint>

namespace kw {

/// A byte range [begin, end) of UTF-8 text inside entry `source` of a SourceMap; source 0 is "nowhere".
struct Loc {
  uint32_t source = 0, begin = 0, end = 0;

  bool known() const { return source != 0; }
  friend bool operator==(const Loc &, const Loc &) = default;
};

/// Returns the smallest range that covers both. They must lie in one source, else the first is returned.
inline Loc join(Loc a, Loc b) {
  if (!a.known()) return b;
  if (!b.known() || a.source != b.source) return a;
  return {a.source, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

}  // namespace kw
