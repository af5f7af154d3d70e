// The pass lists of the source program and of both bodies.
#include "driver/pipeline.h"

#include "transform/passes.h"

namespace kw {

namespace {

// Only what the front end made has no orders yet. Bounds come first, for no loop of valid IR writes what its
// bounds read; then cells move into their loops, because mark_orders asks where an accumulator is declared.
constexpr Pass to_source_program[] = {
    {"fix_bounds", fix_bounds}, {"sink_declarations", sink_declarations}, {"mark_orders", mark_orders}};
constexpr Pass to_every_body[] = {
    {"simplify", simplify},          // removes dead scalars of the front end
    {"fuse_fma", fuse_fma},          // after it sums and products are fixed, except in fast mode
    {"fill_buffers", fill_buffers},  // after it every element that is read has been written
};
// after these every access is safe
constexpr Pass guarded[] = {
    {"guard_bounds", guard_bounds}, {"hoist_checks", hoist_checks}, {"demote_integers", demote_integers}};
constexpr Pass guarded_but_data[] = {{"guard_bounds", guard_bounds_but_data},
                                     {"hoist_checks", hoist_checks},
                                     {"demote_integers", demote_integers}};
constexpr Pass debugged[] = {{"check_all_bounds", check_all_bounds}, {"track_writes", track_writes}};
// No fact may be assumed here: the plain body runs when a fact of the main body fails.
constexpr Pass plain[] = {{"guard_bounds", guard_bounds_without_facts}};
constexpr Pass plain_but_data[] = {{"guard_bounds", guard_bounds_without_facts_but_data}};

/// Returns the passes that make accesses safe. With `unchecked`, subscripts that are data get no checks.
PassList safety(const CodegenOptions &options) {
  // Debug mode comes first: it checks every access, whichever body was asked for.
  if (options.debug) return debugged;
  if (options.body != Body::main) return options.unchecked ? plain_but_data : plain;
  return options.unchecked ? guarded_but_data : guarded;
}

}  // namespace

PassList source_passes() { return to_source_program; }

Func source_program(Func f, const Target &target) {
  return f.orders_open ? run_passes(source_passes(), std::move(f), target) : f;
}

std::array<PassList, 2> pipeline_passes(const CodegenOptions &options) {
  return {to_every_body, safety(options)};
}

Func run_pipeline(const Func &f, const CodegenOptions &options, const Target &target) {
  auto [common, safe] = pipeline_passes(options);
  return run_passes(safe, run_passes(common, f, target), target);
}

bool is_scheduled(const CodegenOptions &options) { return options.body == Body::main && !options.debug; }

Func scheduled(const Func &safe, const CodegenOptions &options, const Target &target,
               const Backend &backend) {
  // A back end without steps runs the loops as they are written.
  if (!is_scheduled(options) || backend.steps.empty()) return safe;
  StageClock clock;
  Func out = backend.schedule(safe, target).func;
  report_stage("schedule", out, clock.ms());
  return out;
}

}  // namespace kw
