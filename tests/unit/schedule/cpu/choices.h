// Kernels of the tests of schedules, and what the steps make of them as text: the way of a kernel up to the
// first step, on machines with both kinds of vectors. Holds no tests.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "schedule/directives/loop_nest.h"
#include "support/target.h"

namespace kw::unit {

Target avx2_machine();
Target avx512_machine();

/// The loops of a kernel over a, b: f32[n, m], v: f32[k] and w: i64[l] after one step, in the order of the
/// text, deeper ones indented by dots: "i0 .j i .j#2".
std::string loops_after(std::string_view lines, const std::function<void(LoopNest &)> &step);
/// The same as printed IR.
std::string text_after(std::string_view lines, const std::function<void(LoopNest &)> &step);

/// Returns "" if the lines of a recorded schedule turn `f` into `scheduled`, else the reason why not.
std::string replay_error(const Func &f, const std::vector<std::string> &lines, const Func &scheduled);

}  // namespace kw::unit
