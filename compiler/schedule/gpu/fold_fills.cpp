// Tries the outermost loops.
#include "schedule/gpu/steps.h"

#include "analysis/nest/access_stride.h"

namespace kw {

void fold_fills(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  std::vector<Sym> outermost;
  for (uint32_t l : loops_in(nest.nest(), NestLoop::no_loop))
    if (const For *n = nest.nest().loops[l].loop) outermost.push_back(n->iter);
  for (const Sym &iter : outermost) {
    FoldFill fold{*find_loop(nest.nest(), iter)};
    if (nest.legal(fold).ok()) nest.apply(fold);
  }
}

}  // namespace kw
