// The pass lists of both bodies.
#include "driver/pipeline.h"

#include "transform/fill_buffers.h"
#include "transform/fuse_fma.h"
#include "transform/guard_bounds.h"
#include "transform/pass.h"
#include "transform/simplify.h"

namespace kw {

namespace {

constexpr Pass main_body[] = {
    {"simplify", simplify},          // dead scalars of the front end go
    {"fuse_fma", fuse_fma},          // from here on sums and products are fixed: no pass changes a rounding
    {"fill_buffers", fill_buffers},  // from here on every element that is read has been written
    {"guard_bounds", guard_bounds},  // from here on every access is safe
};

constexpr Pass plain_body[] = {
    {"simplify", simplify},
    {"fuse_fma", fuse_fma},
    {"fill_buffers", fill_buffers},
    {"check_all_bounds", check_all_bounds},
};

}  // namespace

Func run_pipeline(const Func &f, const CodegenOptions &options, const Target &target) {
  if (options.body == Body::plain || options.debug) return run_passes(plain_body, f, target);
  return run_passes(main_body, f, target);
}

}  // namespace kw
