// The pass lists of both bodies.
#include "driver/pipeline.h"

#include "transform/fill_buffers.h"
#include "transform/fuse_fma.h"
#include "transform/guard_bounds.h"
#include "transform/pass.h"
#include "transform/simplify.h"
#include "transform/track_writes.h"

namespace kw {

namespace {

constexpr Pass to_every_body[] = {
    {"simplify", simplify},          // dead scalars of the front end go
    {"fuse_fma", fuse_fma},          // from here on sums and products are fixed: no pass changes a rounding
    {"fill_buffers", fill_buffers},  // from here on every element that is read has been written
};
// from here on every access is safe
constexpr Pass guarded[] = {{"guard_bounds", guard_bounds}};
constexpr Pass guarded_but_data[] = {{"guard_bounds", guard_bounds_but_data}};
constexpr Pass debugged[] = {{"check_all_bounds", check_all_bounds}, {"track_writes", track_writes}};
constexpr Pass checked[] = {{"check_all_bounds", check_all_bounds}};
constexpr Pass checked_but_data[] = {{"check_all_bounds", check_all_bounds_but_data}};

std::span<const Pass> safety(const CodegenOptions &options) {
  if (options.debug) return debugged;
  if (options.body == Body::plain) return options.unchecked ? checked_but_data : checked;
  return options.unchecked ? guarded_but_data : guarded;
}

}  // namespace

Func run_pipeline(const Func &f, const CodegenOptions &options, const Target &target) {
  return run_passes(safety(options), run_passes(to_every_body, f, target), target);
}

}  // namespace kw
