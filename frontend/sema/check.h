// kernel.check(): the rules of the language over a whole kernel, before any types are known. Errors that
// depend on types or values are left to lowering, and so are branches that types or values may make dead.
#pragma once

#include "ir/signature.h"
#include "support/diagnostic.h"

namespace kw {

/// Reports every E1xx that a text shows without types. Errors go to the sink; throws CompileError if the text
/// cannot be parsed.
void check_source(const SourceMap &sources, uint32_t source, const Captures &captures, Sink &sink);

}  // namespace kw
