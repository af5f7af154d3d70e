// Files from which Linux perf takes the names of compiled functions. Each process writes its own; a child of
// fork begins new ones.
#pragma once

#include <span>

#include "runtime/cpu/code_events.h"

namespace kw {

/// Appends functions to /tmp/perf-PID.map, which `perf report` reads by itself.
void write_perf_map(std::span<const CodeRange> functions);

/// Appends functions with their code to jit-PID.dump in JITDUMPDIR or the present directory, for
/// `perf record -k 1`, `perf inject --jit` and then `perf report` or `perf annotate`.
void write_jitdump(std::span<const CodeRange> functions);

}  // namespace kw
