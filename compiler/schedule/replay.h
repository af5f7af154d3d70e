// Applies a schedule that is given as text, one directive a line. Lines that begin with "short_sums: "
// rewrite the version for short sums (schedule/cpu/short_sums), which the first of these lines makes. Lines
// that begin with "loop N: " rewrite one loop of a kernel that is too large for one nest.
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

struct RefusedLine {
  Loc line;
  Verdict verdict;
};

/// Applies the lines in order. Stops at the first line that is not legal and returns it. Throws CompileError
/// with E401 for malformed text.
std::optional<RefusedLine> replay(LoopNest &nest, const SourceMap &sources, uint32_t source);

struct Replayed {
  Func func;
  /// "", or why a line could not be applied; `func` then is the result of the lines before.
  std::string error;
};
/// Applies the lines to a function.
Replayed replayed(const Func &f, const std::vector<std::string> &lines);

}  // namespace kw
