// The user's claims on loops, checked: W401 to W405 for those that are false or cannot be proved. The loops
// keep their meaning either way. A kernel without such a claim costs one look at its statements.
#pragma once

#include "ir/func.h"
#include "support/diagnostic.h"

namespace kw {

std::vector<Diagnostic> check_hints(const Func &f, const SourceMap &sources);

}  // namespace kw
