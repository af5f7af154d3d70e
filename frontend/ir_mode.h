// Reads printed IR back (the text under "# kw-ir 2"). No promotion, no inference: everything is explicit in
// the text.
#pragma once

#include "ir/func.h"
#include "support/diagnostic.h"

namespace kw {

/// parse_ir(print(f)) equals f up to Loc. Throws CompileError E100 on anything that is no printed IR; the
/// result is verified.
Func parse_ir(const SourceMap &sources, uint32_t source);

}  // namespace kw
