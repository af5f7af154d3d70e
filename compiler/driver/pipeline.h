// The order of passes, as a table of contents of the compiler between the front end and the back ends.
// It decides nothing about a kernel; every decision is a pass.
#pragma once

#include "ir/func.h"
#include "support/target.h"

namespace kw {

/// Source-level IR → safe IR that any back end's tail accepts. `body` and `debug` choose between facts and
/// checks everywhere.
Func run_pipeline(const Func &f, const CodegenOptions &options, const Target &target);

}  // namespace kw
