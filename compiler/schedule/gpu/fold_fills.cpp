// Tries the outermost loops.
#include "schedule/gpu/steps.h"

#include <algorithm>

#include "analysis/nest/access_stride.h"

namespace kw {

namespace {

/// Returns whether all loops along which stores go from element to element can be launched. One thread that
/// goes through a recurrence would test in each iteration whether it writes zeros.
bool is_launched(const LoopNest &nest, uint32_t outermost) {
  std::vector<Sym> along;
  for (const NestStatement &s : nest.nest().statements)
    for (uint32_t l : s.loops)
      if (const For *n = nest.nest().loops[l].loop; n && is_inside(s, outermost))
        if (std::any_of(s.accesses.begin(), s.accesses.end(), [&](const NestAccess &a) {
              return a.is_write && a.buf->rank() && stride_of(nest.nest(), a, l) != StrideKind::invariant;
            }))
          along.push_back(n->iter);
  return std::all_of(along.begin(), along.end(), [&](const Sym &iter) {
    return nest.legal(Grid{*find_loop(nest.nest(), iter), 1}).ok();
  });
}

}  // namespace

void fold_fills(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  std::vector<Sym> outermost;
  for (uint32_t l : loops_in(nest.nest(), NestLoop::no_loop))
    if (const For *n = nest.nest().loops[l].loop) outermost.push_back(n->iter);
  for (const Sym &iter : outermost) {
    FoldFill fold{*find_loop(nest.nest(), iter)};
    if (is_launched(nest, fold.loop) && nest.legal(fold).ok()) nest.apply(fold);
  }
}

}  // namespace kw
