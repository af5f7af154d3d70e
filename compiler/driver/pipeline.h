// Lists the order of passes: a table of contents of the compiler between the front end and the back ends. It
// decides nothing about a kernel; every decision is a pass or a step of a schedule.
#pragma once

#include <array>

#include "codegen/backend.h"
#include "transform/pass.h"

namespace kw {

using PassList = std::span<const Pass>;

/// Returns the passes from what the front end makes to the source program.
PassList source_passes();
/// Runs these passes; the result is the stage "lower". IR that was given as text is a source program already,
/// for its sums have their orders.
Func source_program(Func f, const Target &target);

/// Returns the passes from the source program to safe IR, which any back end schedules and lowers. `body` and
/// `debug` choose between facts and checks everywhere.
std::array<PassList, 2> pipeline_passes(const CodegenOptions &options);
/// Runs these passes.
Func run_pipeline(const Func &f, const CodegenOptions &options, const Target &target);
/// Returns whether the loops of a body with these options are scheduled; the loops of other bodies run as
/// written.
bool is_scheduled(const CodegenOptions &options);
/// Returns the safe function as the back end schedules it.
Func scheduled(const Func &safe, const CodegenOptions &options, const Target &target, const Backend &backend);

}  // namespace kw
