// Visits inner loops first, so that the loop around an unrolled loop may be next.
#include "schedule/steps/steps.h"

#include <algorithm>

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/walk.h"

namespace kw {

namespace {

// Most iterations of an unrolled loop, and most statements of all copies. Chosen.
constexpr uint64_t most_trips_written = 7, most_statements_written = 32;

/// Returns whether a serial loop has few constant iterations of few plain statements.
bool is_few(const For &n) {
  auto trips = constant_trips(n);
  if (!trips || *trips == 0 || *trips > most_trips_written || n.kind != ForKind::serial) return false;
  uint64_t statements = 0;
  bool plain = n.hint == Hint::none || n.hint == Hint::unroll || n.hint == Hint::reduce;
  // A loop, While, Jump or Check in the body forbids unrolling.
  auto other = [&](const auto &, const Stmt &) { plain = false; };
  walk(
      n.body, [&](const Store &, const Stmt &) { ++statements; },
      [&](const Let &, const Stmt &) { ++statements; }, [&](const For &x, const Stmt &s) { other(x, s); },
      [&](const While &x, const Stmt &s) { other(x, s); }, [&](const Jump &x, const Stmt &s) { other(x, s); },
      [&](const Check &x, const Stmt &s) { other(x, s); });
  return plain && statements * *trips <= most_statements_written;
}

/// Returns whether a loop around this one accesses memory in it with unit stride, or within a cache line.
bool is_in_rows(const Nest &nest, uint32_t loop) {
  for (const NestStatement &s : nest.statements) {
    if (!is_inside(s, loop)) continue;
    for (const NestAccess &a : s.accesses)
      for (uint32_t l = nest.loops[loop].parent; l != NestLoop::no_loop; l = nest.loops[l].parent)
        if (StrideKind m = stride_of(nest, a, l);
            nest.loops[l].loop && (m == StrideKind::unit || m == StrideKind::same_line))
          return true;
  }
  return false;
}

}  // namespace

void unroll_small_loops(LoopNest &nest) {
  for (uint32_t l = static_cast<uint32_t>(nest.nest().loops.size()); l-- > 0;) {
    const NestLoop &loop = nest.nest().loops[l];
    if (loop.loop && is_few(*loop.loop) && is_in_rows(nest.nest(), l)) nest.try_apply(Unroll{l});
  }
}

}  // namespace kw
