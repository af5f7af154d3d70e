// Inner loops first, so that the loop around one that is written out may be next.
#include "schedule/index_sets/unroll_taps.h"

#include <algorithm>

#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/cpu/motion.h"
#include "schedule/tree/ranges.h"

namespace kw {

namespace {

constexpr uint64_t most_trips_written = 7, most_statements = 32;

bool is_few(const For &n) {
  auto trips = constant_trips(n);
  if (!trips || *trips == 0 || *trips > most_trips_written || n.kind != ForKind::serial) return false;
  uint64_t statements = 0;
  bool plain = n.hint == Hint::none || n.hint == Hint::unroll || n.hint == Hint::reduce;
  auto other = [&](const auto &, const Stmt &) { plain = false; };
  walk(
      n.body, [&](const Store &, const Stmt &) { ++statements; },
      [&](const Let &, const Stmt &) { ++statements; }, [&](const For &x, const Stmt &s) { other(x, s); },
      [&](const While &x, const Stmt &s) { other(x, s); }, [&](const Jump &x, const Stmt &s) { other(x, s); },
      [&](const Check &x, const Stmt &s) { other(x, s); });
  return plain && statements * *trips <= most_statements;
}

/// True when a loop around goes from element to element of something in it.
bool is_in_rows(const Nest &nest, uint32_t loop) {
  for (const NestStatement &s : nest.statements) {
    if (!is_inside(s, loop)) continue;
    for (const NestAccess &a : s.accesses)
      for (uint32_t l = nest.loops[loop].parent; l != NestLoop::no_loop; l = nest.loops[l].parent)
        if (Motion m = motion_of(nest, a, l); nest.loops[l].loop && (m == Motion::unit || m == Motion::near))
          return true;
  }
  return false;
}

}  // namespace

void unroll_taps(LoopNest &nest) {
  for (uint32_t l = static_cast<uint32_t>(nest.nest().loops.size()); l-- > 0;) {
    const NestLoop &loop = nest.nest().loops[l];
    if (loop.loop && is_few(*loop.loop) && is_in_rows(nest.nest(), l))
      nest.try_apply({Directive::Verb::unroll, l});
  }
}

}  // namespace kw
