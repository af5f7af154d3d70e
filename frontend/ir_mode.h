// Reads printed IR back (the text under "# kw-ir 2"). Types are neither promoted nor inferred: the text
// states all of them.
#pragma once

#include "ir/func.h"
#include "support/diagnostic.h"

namespace kw {

/// Reads the IR of a text and verifies it: parse_ir(print(f)) equals f up to Loc. Throws CompileError E100 if
/// the text is not printed IR.
Func parse_ir(const SourceMap &sources, uint32_t source);

}  // namespace kw
