// Asks how each access moves along the two loops, and leaves the choice to what is legal.
#include "schedule/gpu/tiles.h"

#include <utility>

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
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

/// Returns the number of the loop along which tiles have their other side, the last one being the first; 0 if
/// no access is in order along one.
size_t other_side(const LoopNest &nest, const std::vector<Sym> &loops) {
  auto number = [&](const Sym &iter) { return *find_loop(nest.nest(), iter); };
  size_t at = loops.size() - 1;
  while (at > 0 && !accesses_across(nest.nest(), number(loops[at - 1]), number(loops.back()))) --at;
  bool is_small = at > 0 && is_surely_small(*nest.nest().loops[number(loops[at - 1])].loop);
  return is_small ? 0 : at;
}

/// Launches a block for each tile; `at` is their other side. Returns whether it does.
bool stage_all_tiles(LoopNest &nest, std::vector<Sym> loops, size_t at) {
  LoopNest trial = nest;
  auto number = [&](const Sym &iter) { return *find_loop(trial.nest(), iter); };
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

/// Sides of a matrix from which on a block for a tile of it has work for its threads. Chosen: a quarter of a
/// tile of 64 by 64.
constexpr int64_t least_side = 32;

}  // namespace

bool stage_tiles(LoopNest &nest, const std::vector<Sym> &loops) {
  LoopNest trial = nest;
  size_t at = other_side(nest, loops);
  if (at == 0) return false;
  std::vector<Sym> large = loops;
  std::vector<std::vector<Sym>> small;
  // One small matrix is one block; many of them are better off as elements.
  std::vector<size_t> sides;
  if (loops.size() > 2) sides = {loops.size() - 1, at - 1};
  for (size_t side : sides) {
    Specialize by_side{*find_loop(trial.nest(), large.front())};
    by_side.inner = *find_loop(trial.nest(), large[side]), by_side.from = least_side;
    LoopNest before = trial;
    if (constant_trips(*trial.nest().loops[by_side.inner].loop) || !trial.try_apply(by_side).ok()) continue;
    small.push_back(std::exchange(large, copies_of(large, before, trial)));
  }
  if (!stage_all_tiles(trial, large, at)) return false;
  for (const std::vector<Sym> &launch : small) launch_threads(trial, launch);
  nest = trial;
  return true;
}

}  // namespace kw
