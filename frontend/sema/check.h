// The rules of the language over a whole kernel, before any types are known: kernel.check(). What only types
// or values decide is left to lowering, and so are the branches that they may leave dead.
#pragma once

#include "ir/signature.h"
#include "support/diagnostic.h"

namespace kw {

/// Every E1xx that a text shows without types. Errors go to the sink; throws CompileError when the text
/// cannot be parsed.
void check_source(const SourceMap &sources, uint32_t source, const Captures &captures, Sink &sink);

}  // namespace kw
