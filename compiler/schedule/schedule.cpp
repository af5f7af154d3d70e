// Runs the steps: times, dumps and verifies each.
#include "schedule/schedule.h"

#include "ir/match.h"
#include "support/text.h"
#include "transform/pass.h"

namespace kw {

namespace {

/// Kernels with more statements skip the steps that read the whole nest again after each directive. The time
/// of these steps grows with the square of the statements. 100: chosen; 4,000 statements would take 6 s.
constexpr size_t most_rewritten_statements = 100;

/// Builds W409. Quotes the line without the reason after it, and names the buffer in the way if there is
/// one.
Diagnostic unsound_plan(const std::string &kernel, const Rejection &step) {
  std::string line = step.line.substr(0, step.line.find("  #"));
  Diagnostic d{Code::W409, step.loc, {}, {}, {}};
  d.message =
      cat("the loops of '", kernel, "' run as they are written: `", line, "` was planned and is not legal");
  if (!step.buffer.empty())
    d.notes.push_back(cat("iterations would meet in '", step.buffer, "' in another order"));
  if (!step.why.empty()) d.notes.emplace_back(step.why);
  d.help.emplace_back("results are right, but not fast; this is a fault of kernelwright, please report it");
  return d;
}

}  // namespace

bool run_or_restore(LoopNest &nest, const std::function<void(LoopNest &)> &steps) {
  // Rewrites make new nodes and leave the old tree alone, so that this copy can share it.
  LoopNest before = nest;
  try {
    steps(nest);
    return true;
  } catch (const RefusedStep &refused) {
    nest = std::move(before);
    nest.warn(unsound_plan(nest.func().name, refused.step));
    return false;
  }
}

Schedule run_schedule(const Func &f, const Target &target, std::span<const ScheduleStep> steps,
                      bool recorded) {
  Schedule out;
  LoopNest nest(f);
  if (recorded) nest.record();
  // Decided once: a step may let the kernel grow beyond the limit without stopping the steps behind it.
  bool is_small = nest.nest().complete && nest.nest().statements.size() <= most_rewritten_statements;
  // The limit is recorded like a refusal, so that explanations say why no loop was rewritten.
  if (!is_small) {
    std::string why = cat("the kernel has ", nest.nest().statements.size(), " statements, of at most ",
                          most_rewritten_statements);
    nest.reject("rewrites of loops", nest.nest().complete ? why : "the kernel has too many accesses");
  }
  run_or_restore(nest, [&](LoopNest &n) {
    for (const ScheduleStep &step : steps) {
      if (step.reads_all && !is_small) continue;
      StageClock clock;
      step.run(n, target);
      finish_stage(step.name, n.func(), clock.ms());
    }
  });
  out.func = nest.func(), out.steps = nest.steps(), out.fused = nest.fused();
  out.rejections = nest.rejections();
  out.has_short_sums = nest.has_versions();
  return out;
}

// with_short_sums makes the body `if the sums are short: version else: main`.
const Stmt &Schedule::main() const { return has_short_sums ? as<If>(func.body)->no : func.body; }

Stmt Schedule::short_sums() const { return has_short_sums ? as<If>(func.body)->yes : Stmt{}; }

LoopId Schedule::executor_of(LoopId loop) const {
  for (const FusedLoop &f : fused)  // in order: a loop that contains fused loops may be fused itself
    if (f.loop == loop) loop = f.into;
  return loop;
}

}  // namespace kw
