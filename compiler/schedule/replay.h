// Applies a schedule that is given as text, one directive a line. Lines that begin with "short_sums: " are
// for the version of the kernel for short sums (schedule/cpu/short_sums), which the first of them makes;
// those with "loop N: " for a loop of a kernel that is too large to be read as one nest.
#pragma once

#include "schedule/directives/loop_nest.h"

namespace kw {

struct RefusedLine {
  Loc line;
  Verdict verdict;
};

/// Applies the lines in their order; stops at the first that is not legal and returns it. Throws CompileError
/// with E401 for malformed text.
std::optional<RefusedLine> replay(LoopNest &nest, const SourceMap &sources, uint32_t source);

struct Replayed {
  Func func;
  std::string error;  ///< "" or why a line could not be applied; then `func` is what those before it made
};
/// Applies the lines to a function.
Replayed replayed(const Func &f, const std::vector<std::string> &lines);

/// Returns "" if the lines of a recorded schedule make the scheduled function of `f`, else what they do not.
std::string replay_error(const Func &f, const std::vector<std::string> &lines, const Func &scheduled);

}  // namespace kw
