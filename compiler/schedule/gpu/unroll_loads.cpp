// Looks at loops that a thread executes alone.
#include "schedule/gpu/steps.h"

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Iterations whose loads a thread waits for at once. Chosen: each thread of a full multiprocessor then has
/// 32 bytes under way, and latency times bandwidth of an H100 is 11 KB for each of them.
constexpr int64_t iterations_at_once = 8;
constexpr int most_operations = 24;  // of an iteration; a copy of a larger one gains little. Chosen

/// Returns whether iterations are short, in source order, and load what their number says: the loads then
/// come before the first of the operations.
bool loads_ahead(const For &n) {
  bool fits = n.kind == ForKind::serial && n.hint == Hint::none && !has_check(n.body);
  int operations = 0;
  bool loads = false;
  walk(
      n.body, [&](const For &, const Stmt &) { fits = false; },
      [&](const While &, const Stmt &) { fits = false; }, [&](const If &, const Stmt &) { fits = false; },
      [&](const Jump &, const Stmt &) { fits = false; },
      [&](const Store &s, const Stmt &) {
        // A later load of the same memory would wait for the store.
        fits = fits && s.order == Order::source && s.buf->space == Space::registers;
      },
      [&](const Load &l, const Expr &) { loads = loads || (l.buf->rank() && mentions(l.index, n.iter)); },
      [&](const Binary &, const Expr &) { ++operations; }, [&](const Call &, const Expr &) { ++operations; });
  auto trips = most_trips(n);
  bool is_long = !trips || *trips > static_cast<uint64_t>(iterations_at_once);
  return fits && loads && is_long && operations <= most_operations;
}

/// Returns whether a loop stands in a grid loop and in no loop that threads share.
bool is_of_a_thread(const Nest &nest, uint32_t loop) {
  bool in_grid = false;
  for (uint32_t l = nest.loops[loop].parent; l != NestLoop::no_loop; l = nest.loops[l].parent) {
    const For *n = nest.loops[l].loop;
    if (!n || n->kind == ForKind::block) return false;
    in_grid = in_grid || n->kind == ForKind::grid;
  }
  return in_grid;
}

}  // namespace

void unroll_loads(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  std::vector<Sym> chosen;
  const std::vector<NestLoop> &loops = nest.nest().loops;
  for (uint32_t l = 0; l < loops.size(); ++l)
    if (loops[l].loop && loads_ahead(*loops[l].loop) && is_of_a_thread(nest.nest(), l))
      chosen.push_back(loops[l].loop->iter);
  for (const Sym &iter : chosen) nest.try_apply(Unroll{*find_loop(nest.nest(), iter), iterations_at_once});
}

}  // namespace kw
