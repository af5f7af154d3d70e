// The texts of one compilation. An entry is a region of a file or an inlined copy of another entry;
// Loc::source indexes it. Owns text; renders nothing (see diagnostic.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/loc.h"

namespace kw {

/// A place as people count: 1-based line and column in code points.
struct Position {
  uint32_t line = 0, column = 0;
};

class SourceMap {
 public:
  /// Adds a region of `path` whose first line has number `first_line`; returns its index.
  uint32_t add_text(std::string path, uint32_t first_line, std::string text);

  /// Adds a copy of entry `callee` that was inlined by the call at `call`; returns its index.
  uint32_t add_inlined(uint32_t callee, Loc call);

  /// Returns the text of a source; for an inlined copy, that of the callee. Empty for source 0.
  std::string_view text(uint32_t source) const;
  const std::string &path(uint32_t source) const;

  Position position(Loc loc) const;
  Position end_position(Loc loc) const;
  /// Returns the whole line that contains loc.begin, without its newline.
  std::string_view line_text(Loc loc) const;
  /// Returns the number of the text that a source stands for: 0 is the kernel's own.
  uint32_t text_number(uint32_t source) const { return resolve(source).number; }
  /// Returns the call that inlined this source, or an unknown Loc.
  Loc inlined_at(uint32_t source) const;

 private:
  struct Entry {
    std::string path;
    uint32_t first_line = 1;
    std::string text;
    uint32_t callee = 0;
    Loc call;
    uint32_t number = 0;
  };
  const Entry &resolve(uint32_t source) const;
  Position position_of(uint32_t source, uint32_t offset) const;

  std::vector<Entry> entries_{Entry{}};
  uint32_t texts_ = 0;
};

}  // namespace kw
