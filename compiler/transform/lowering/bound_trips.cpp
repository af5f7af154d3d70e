// Rewrites the loops whose plan has no bound yet.
#include "transform/lowering/passes.h"

#include "analysis/nest/trip_counts.h"
#include "ir/rewrite.h"

namespace kw {

/// The largest bound in a plan. No reader uses larger ones, and the printed plan stays short. Chosen.
static constexpr uint64_t largest = uint64_t{1} << 20;

Func bound_trips(const Func &f, const Target &) {
  Func out = f;
  out.body = rewrite(f.body, [](const For &n, const Stmt &s) {
    if (n.how.max_trips > 0) return s;
    std::optional<uint64_t> most = most_trips(n);
    if (!most || *most == 0 || *most > largest) return s;
    For loop = n;
    loop.how.max_trips = static_cast<int64_t>(*most);
    return for_loop(std::move(loop), s.loc());
  });
  return out;
}

}  // namespace kw
