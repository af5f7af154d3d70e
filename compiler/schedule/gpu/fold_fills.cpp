// Tries the outermost loops.
#include "schedule/gpu/steps.h"

#include <algorithm>

#include "analysis/nest/access_stride.h"

namespace kw {

namespace {

/// Returns whether all loops of a nest along which stores go from element to element can be launched. One
/// thread that goes through a recurrence would test in each iteration whether it writes zeros.
bool can_launch_stores(const LoopNest &nest, uint32_t outermost) {
  const std::vector<NestStatement> &all = nest.nest().statements;
  auto goes_along = [&](uint32_t loop) {
    return std::any_of(all.begin(), all.end(), [&](const NestStatement &s) {
      return is_inside(s, outermost) && is_inside(s, loop) &&
             std::any_of(s.accesses.begin(), s.accesses.end(), [&](const NestAccess &a) {
               return a.is_write && a.buf->rank() && stride_of(nest.nest(), a, loop) != StrideKind::invariant;
             });
    });
  };
  for (uint32_t l = 0; l < nest.nest().loops.size(); ++l)
    if (nest.nest().loops[l].loop && goes_along(l) && !nest.legal(Grid{l, 1}).ok()) return false;
  return true;
}

}  // namespace

void fold_fills(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  std::vector<Sym> outermost;
  for (uint32_t l : loops_in(nest.nest(), NestLoop::no_loop))
    if (const For *n = nest.nest().loops[l].loop) outermost.push_back(n->iter);
  for (const Sym &iter : outermost) {
    FoldFill fold{*find_loop(nest.nest(), iter)};
    if (can_launch_stores(nest, fold.loop) && nest.legal(fold).ok()) nest.apply(fold);
  }
}

}  // namespace kw
