// Asks how each access moves along the two loops, and leaves the choice to what is legal.
#include "schedule/gpu/tiles.h"

#include "analysis/nest/access_stride.h"
#include "schedule/gpu/threads.h"

namespace kw {

namespace {

/// Returns whether the loops store to memory, always with a stride along the inner loop and in order along
/// the outer one.
bool stores_across(const Nest &nest, uint32_t outer, uint32_t inner) {
  bool stores = false, across = true;
  for (const NestStatement &s : nest.statements)
    for (const NestAccess &a : s.accesses) {
      if (!is_inside(s, inner) || !a.is_write || a.buf->rank() == 0) continue;
      stores = true;
      across = across && stride_of(nest, a, outer) == StrideKind::unit &&
               stride_of(nest, a, inner) >= StrideKind::strided;
    }
  return stores && across;
}

/// Returns whether an access in the inner loop is in order along the outer one and has a stride along the
/// inner one.
bool accesses_across(const Nest &nest, uint32_t outer, uint32_t inner) {
  for (const NestStatement &s : nest.statements)
    for (const NestAccess &a : s.accesses)
      if (is_inside(s, inner) && stride_of(nest, a, outer) == StrideKind::unit &&
          stride_of(nest, a, inner) >= StrideKind::strided)
        return true;
  return false;
}

}  // namespace

bool stage_tiles(LoopNest &nest, std::vector<Sym> loops) {
  LoopNest trial = nest;
  auto number = [&](const Sym &iter) { return *find_loop(trial.nest(), iter); };
  size_t at = loops.size() - 1;
  while (at > 0 && !accesses_across(trial.nest(), number(loops[at - 1]), number(loops.back()))) --at;
  if (at == 0 || is_surely_small(*trial.nest().loops[number(loops[at - 1])].loop)) return false;
  Sym outer = loops[at - 1], inner = loops.back();
  if (at + 1 < loops.size()) {
    loops.erase(loops.begin() + static_cast<ptrdiff_t>(at) - 1);
    loops.insert(loops.end() - 1, outer);
    std::vector<uint32_t> order;
    for (const Sym &iter : loops) order.push_back(number(iter));
    if (!trial.try_apply(Reorder{order}).ok()) return false;
  }
  if (stores_across(trial.nest(), number(outer), number(inner))) {
    if (!trial.try_apply(Reorder{{number(inner), number(outer)}}).ok()) return false;
    std::swap(outer, inner);
  }
  for (size_t i = 0; i + 2 < loops.size(); ++i) trial.try_apply(Grid{number(loops[i]), 1});
  if (!trial.try_apply(Stage{number(outer)}).ok()) return false;
  nest = trial;
  return true;
}

}  // namespace kw
