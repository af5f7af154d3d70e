// The way of a kernel to the first step of a schedule.
#include "tests/unit/schedule/cpu/choices.h"

#include "driver/pipeline.h"
#include "ir/print.h"
#include "schedule/replay.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw::unit {

Target avx2_machine() { return {"x86_64-unknown-linux-gnu", {"avx", "avx2", "fma"}}; }
Target avx512_machine() {
  return {"x86_64-unknown-linux-gnu", {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"}};
}

static LoopNest nest_after(std::string_view lines, const std::function<void(LoopNest &)> &step) {
  std::string text = "def f(a, b, v, w):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Signature s = signature({tensor(2), tensor(2), tensor(1), tensor(1, DType::i64)});
  CodegenOptions options;
  Func f = kernel(text + "  return a, v, w\n", s, options);
  LoopNest nest(run_pipeline(f, options, avx512_machine()));
  step(nest);
  return nest;
}

std::string loops_after(std::string_view lines, const std::function<void(LoopNest &)> &step) {
  LoopNest nest = nest_after(lines, step);
  std::vector<std::string> names = loop_names(nest.nest()), out;
  for (uint32_t l = 0; l < names.size(); ++l) {
    std::string dots;
    for (uint32_t p = nest.nest().loops[l].parent; p != NestLoop::no_loop; p = nest.nest().loops[p].parent)
      dots += ".";
    out.push_back(dots + names[l]);
  }
  return join_text(out, " ");
}

std::string text_after(std::string_view lines, const std::function<void(LoopNest &)> &step) {
  return print(nest_after(lines, step).func());
}

std::string replay_error(const Func &f, const std::vector<std::string> &lines, const Func &scheduled) {
  Replayed made = replayed(f, lines);
  // The printed text contains the kinds and plans of loops, so that a missing directive shows.
  if (made.error.empty() && print(made.func) != print(scheduled))
    return "the directives make other loops than those that run";
  return made.error;
}

}  // namespace kw::unit
