// Tries one order of each perfect nest on a copy.
#include "schedule/gpu/steps.h"

#include <algorithm>

#include "analysis/nest/access_stride.h"
#include "schedule/tree/perfect_nest.h"

namespace kw {

namespace {

void order(LoopNest &nest, uint32_t root) {
  std::vector<uint32_t> now = movable_loops_from(nest.nest(), root), wanted = now;
  auto serial = std::stable_partition(wanted.begin(), wanted.end(),
                                      [&](uint32_t l) { return nest.is_free(l, FreeFor::threads); });
  if (wanted == now) return;
  std::vector<Sym> parallel;
  for (auto l = wanted.begin(); l != serial; ++l) parallel.push_back(nest.nest().loops[*l].loop->iter);
  LoopNest trial = nest;
  if (!trial.try_apply(Reorder{wanted}).ok()) return;
  bool stay_free = std::all_of(parallel.begin(), parallel.end(), [&](const Sym &iter) {
    return trial.is_free(*find_loop(trial.nest(), iter), FreeFor::threads);
  });
  if (stay_free) nest = trial;
}

}  // namespace

void order_loops(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  for (const Sym &root : roots_of_perfect_nests(nest.nest()))
    if (auto loop = find_loop(nest.nest(), root)) order(nest, *loop);
}

}  // namespace kw
