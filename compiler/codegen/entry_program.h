// The program that a call runs on its extents before the kernel. It computes output shapes, the choice
// between the main and the plain body, the workspace and the work estimate. Stack code without loops, which
// runtime/versions/entry evaluates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cost.h"
#include "ir/func.h"
#include "support/source_map.h"

namespace kw {

/// The place where an output is declared, as in Resolved.
struct ExtentPlace {
  int32_t line = -1;
  uint32_t column = 0, end_column = 0;
  std::string line_text;
};

struct EntryProgram {
  std::string code;
  bool bounded = true;                     ///< there is a work estimate, and it bounds the work
  std::vector<ExtentPlace> extent_places;  ///< per output extent: its declaration
};

/// Builds the program for a function that its back end has lowered. `work` estimates the function before
/// lowering. Throws E206 if the extent of an output does not follow from shapes and integer scalars.
EntryProgram build_entry_program(const Func &f, const WorkEstimate &work, const SourceMap &sources);

}  // namespace kw
