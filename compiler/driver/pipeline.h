// The order of passes: a table of contents of the compiler between the front end and the back ends. It
// decides nothing about a kernel; every decision is a pass.
#pragma once

#include <array>

#include "transform/pass.h"

namespace kw {

/// Source-level IR → safe IR that any back end's tail accepts. `body` and `debug` choose between facts and
/// checks everywhere.
using PassList = std::span<const Pass>;

/// The passes of a body before the back end's tail, in order.
std::array<PassList, 2> pipeline_passes(const CodegenOptions &options);
/// Runs them; `scheduled` false leaves the loops as they were written.
Func run_pipeline(const Func &f, const CodegenOptions &options, const Target &target, bool scheduled = true);

}  // namespace kw
