// The steps in their order: each leaves a form that the next can use.
#include "schedule/choose_cpu.h"

#include "ir/build.h"
#include "ir/match.h"
#include "schedule/cpu/separate_sums.h"
#include "schedule/cpu/short_sums.h"
#include "schedule/cpu/strip_mine_column_reductions.h"
#include "schedule/cpu/unroll_and_jam.h"
#include "schedule/cpu/vectorize_and_parallelize.h"
#include "schedule/steps/distribute_reductions.h"
#include "schedule/steps/fuse_loops.h"
#include "schedule/steps/peel_boundaries.h"
#include "schedule/steps/permute_loops.h"
#include "schedule/steps/scalar_replacement.h"
#include "schedule/steps/split_index_sets.h"
#include "schedule/steps/tile_transposed_accesses.h"
#include "schedule/steps/unroll_hints.h"
#include "schedule/steps/unroll_small_loops.h"
#include "support/text.h"

namespace kw {

namespace {

/// Kernels with more statements keep their loops as written: each scheduling step re-reads the whole nest, so
/// the time grows with the square. Chosen.
constexpr size_t most_statements = 100;

/// Transforms and permutes the loops for memory.
void rewrite(LoopNest &nest, const Target &target) {
  if (nest.nest().statements.size() > most_statements) return;
  distribute_reductions(nest);
  split_index_sets(nest);
  fuse_loops(nest);
  unroll_small_loops(nest);
  if (peel_boundaries(nest)) unroll_small_loops(nest);
  permute_loops(nest, target);
  tile_transposed_accesses(nest);
  strip_mine_column_reductions(nest, target);
  separate_sums(nest, target);
  unroll_and_jam(nest, target);
}

Diagnostic unsound_plan(const std::string &kernel, const RefusedDirective &step) {
  std::string line = step.line.substr(0, step.line.find("  #"));
  Diagnostic d{Code::W409, step.loop, {}, {}, {}};
  d.message =
      cat("the loops of '", kernel, "' run as they are written: `", line, "` was planned and is not legal");
  if (!step.buffer.empty())
    d.notes.push_back(cat("iterations would meet in '", step.buffer, "' in another order"));
  if (!step.why.empty()) d.notes.emplace_back(step.why);
  d.help.emplace_back("results are right, but not fast; this is a fault of kernelwright, please report it");
  return d;
}

Func chosen(LoopNest &nest, const Target &target) {
  if (run_steps(nest, [&](LoopNest &n) { rewrite(n, target); })) vectorize_and_parallelize(nest, target);
  return nest.func();
}

/// The same, of calls whose sums are short, where that is better vectorized; else nothing.
std::optional<ShortSums> chosen_for_short_sums(const Func &f, const Func &main, const Target &target) {
  std::optional<ShortSums> version = short_sums(f);
  if (!version) return {};
  LoopNest nest(version->func);
  version->func = chosen(nest, target);
  if (!vectorizes_more(version->func, main)) return {};
  return version;
}

}  // namespace

bool run_steps(LoopNest &nest, const std::function<void(LoopNest &)> &steps) {
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

Func choose_cpu(const Func &f, const Target &target) {
  LoopNest nest(f);
  Func out = chosen(nest, target);
  if (auto version = chosen_for_short_sums(f, out, target))
    out = with_short_sums(std::move(out), version->condition, version->func);
  return unroll_hinted(scalar_replacement(out));
}

CpuSchedule schedule_for_cpu(const Func &f, const Target &target) {
  std::vector<RefusedDirective> refused;
  LoopNest nest(f);
  nest.record(&refused);
  Func out = chosen(nest, target);
  auto version = chosen_for_short_sums(f, out, target);
  return {std::move(out), nest.lines(), std::move(refused), nest.fused(),
          version ? version->func.body : Stmt{}};
}

LoopId CpuSchedule::executor_of(LoopId loop) const {
  for (const FusedLoop &f : fused)  // in their order: one that took others in may be fused itself
    if (f.loop == loop) loop = f.into;
  return loop;
}

}  // namespace kw
