// One function for each directive.
#include "schedule/directives/gpu_preconditions.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/gpu/combined_values.h"
#include "analysis/gpu/launch_form.h"
#include "analysis/gpu/pipeline.h"
#include "analysis/gpu/vector_accesses.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/launches/cached_row.h"
#include "schedule/launches/folded_fill.h"
#include "schedule/launches/linear_grid.h"
#include "schedule/launches/rfactor.h"
#include "schedule/launches/scans.h"
#include "schedule/launches/staged_chain.h"
#include "schedule/launches/staged_rows.h"
#include "schedule/launches/staged_tiles.h"
#include "schedule/launches/staging.h"
#include "schedule/tree/unswitched_loop.h"

namespace kw {

namespace {

constexpr int64_t most_threads = 1024;  // of a block, on every GPU (CUDA C++ Programming Guide)

constexpr std::string_view no_vectors = "its iterations do not fill such vectors",
                           has_kind = "a loop in it has its kind already",
                           unknown_bounds = "its bounds, or those around it, are known on the device only";

bool holds_serial_loops_alone(const For &n) {
  bool fine = true;
  walk(n.body, [&](const For &inner, const Stmt &) { fine = fine && inner.kind == ForKind::serial; });
  return fine;
}

/// Returns the bytes of the arrays of a constant size that statements make.
int64_t shared_bytes(const Stmt &body) {
  int64_t bytes = 0;
  std::unordered_map<const BufNode *, uint32_t> stages = stages_of(body);
  walk(body, [&](const Alloc &a, const Stmt &) {
    if (!is_team_array(*a.buf)) return;
    auto size = static_cast<int64_t>(item_size(a.buf->dtype));
    if (auto found = stages.find(a.buf.get()); found != stages.end()) size *= found->second;
    for (const Expr &e : a.buf->extents) size *= as_int(e).value_or(most_shared_bytes);
    bytes += size;
  });
  return bytes;
}

/// Returns the loops around a loop, innermost first; null for a while.
std::vector<const For *> loops_around(const Nest &nest, uint32_t loop) {
  std::vector<const For *> out;
  for (uint32_t l = nest.loops[loop].parent; l != NestLoop::no_loop; l = nest.loops[l].parent)
    out.push_back(nest.loops[l].loop);
  return out;
}

constexpr std::string_view shares_what_is_copied =
    "blocks accumulate in an array that it stores to by atomic operations";

/// Returns whether a loop stores to a buffer in which the threads of a loop around it accumulate: the copy of
/// an element is no place for an atomic operation.
bool stores_to_shared(const Nest &nest, uint32_t loop) {
  bool found = false;
  for (const For *around : loops_around(nest, loop))
    if (around)
      walk(nest.loops[loop].loop->body,
           [&](const Store &s, const Stmt &) { found = found || accumulates_by_atomics(*around, s.buf); });
  return found;
}

}  // namespace

/// Returns why a loop cannot be launched in blocks of this size; "" if it can.
template <class D>
static std::string_view why_not_in_blocks(const For &n, const D &d) {
  int64_t at_once = std::max<int64_t>(d.vector, 1) * std::max<int64_t>(d.unroll, 1);
  if (d.per_block < 1 || d.per_block / at_once > most_threads || d.per_block % at_once)
    return "a block has 1 to 1,024 threads";
  if (d.vector && d.vector != vector_width_on_gpu(n)) return no_vectors;
  return d.unroll && !is_short_on_gpu(n) ? "its iterations are long" : "";
}

std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Grid &d) {
  const For &n = *nest.loops[d.loop].loop;
  if (std::string_view why = why_not_in_blocks(n, d); !why.empty()) return why;
  if (!holds_serial_loops_alone(n)) return has_kind;
  return launchable_loops(f).count(&n) ? "" : unknown_bounds;
}

std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Team &d) {
  const For *grid = nullptr;
  for (const For *around : loops_around(nest, d.loop)) {
    if (!around) return "a `while` stands around it";  // which threads could leave at different times
    if (around->kind != ForKind::grid && around->kind != ForKind::serial)
      return "the loop around it is neither a grid loop nor serial";
    if (around->kind == ForKind::grid && !grid) grid = around;
  }
  // Without a grid loop, one team executes what stands around it.
  int64_t per_block = grid ? std::max<int64_t>(grid->how.per_block, 1) : 1;
  bool is_warp = d.threads == warp_threads && d.threads * per_block <= most_threads;
  if (!is_warp && !(d.threads == block_team_threads && per_block == 1))
    return "a team is a warp of 32 threads of up to 1,024, or a block of 256";
  const For &n = *nest.loops[d.loop].loop;
  if (!holds_serial_loops_alone(n)) return has_kind;
  if (d.vector && d.vector != team_vector_width(n)) return no_vectors;
  int64_t bytes = shared_bytes(grid ? grid->body : f.body) * per_block;
  bool fits = bytes + (is_warp ? 0 : exchanged_bytes) <= most_shared_bytes;
  return fits ? "" : "its team has too large arrays";
}

std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Stage &d) {
  const For &outer = *nest.loops[d.loop].loop;
  const For *inner = as<For>(outer.body);
  if (!inner || outer.step != 1 || inner->step != 1) return "no loop with steps of 1 is all of it";
  if (!holds_serial_loops_alone(outer)) return has_kind;
  if (stores_to_shared(nest, d.loop)) return shares_what_is_copied;
  for (const Expr &bound : {inner->lo, inner->hi})
    if (mentions(bound, outer.iter)) return "the loop in it has other bounds in each iteration";
  size_t grids = 0;
  for (const For *around : loops_around(nest, d.loop)) grids += around && around->kind == ForKind::grid;
  std::unordered_set<const For *> launchable = launchable_loops(f);
  bool is_known = launchable.count(inner) || (is_of_call(inner->lo) && is_of_call(inner->hi));
  if (grids > 1 || !launchable.count(&outer) || !is_known) return unknown_bounds;
  std::vector<Buf> buffers = stageable_buffers(outer, *inner);
  if (buffers.empty()) return "the loop in it reads nothing with a stride that can be copied";
  return side_of_tiles(buffers) ? "" : "its team has too large arrays";
}

namespace {

/// Returns why the loops from one inwards are no launches over a rectangle that the host knows; "" if they
/// are.
std::string_view why_not_flat(const Func &f, const Nest &nest, uint32_t loop) {
  const For &n = *nest.loops[loop].loop;
  if (!holds_serial_loops_alone(n)) return has_kind;
  for (const For *around : loops_around(nest, loop))
    if (around && around->kind != ForKind::serial) return "the loop around it has its kind already";
  std::vector<const For *> loops = loops_of_reduction(n);
  if (loops.empty()) return "the order of a sum in it is fixed";
  if (!launchable_loops(f).count(&n)) return unknown_bounds;
  bool is_sized = std::all_of(loops.begin(), loops.end(),
                              [](const For *one) { return is_of_call(one->lo) && is_of_call(one->hi); });
  return is_sized ? "" : "a bound of it is no size of the call";
}

}  // namespace

std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Rfactor &d) {
  if (std::string_view why = why_not_flat(f, nest, d.loop); !why.empty()) return why;
  CombinedValues values(*nest.loops[d.loop].loop);
  return values.accumulators.empty() && values.selections.empty() ? "it reduces nothing" : "";
}

static std::string_view why_not_staged(const Func &f, const Nest &nest, uint32_t loop, ThreadPath path,
                                       int64_t width) {
  const For &n = *nest.loops[loop].loop;
  if (!holds_serial_loops_alone(n)) return has_kind;
  if (stores_to_shared(nest, loop)) return shares_what_is_copied;
  size_t grids = 0;
  for (const For *around : loops_around(nest, loop)) grids += around && around->kind == ForKind::grid;
  if (grids > 2 || !launchable_loops(f).count(&n)) return unknown_bounds;
  if (can_stage_rows(n, path, width)) return "";
  return path == ThreadPath::rows ? "no loop in it goes through a row that can be copied"
                                  : "no loop in it goes down a column that can be copied";
}
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const StageRows &d) {
  return why_not_staged(f, nest, d.loop, ThreadPath::rows, tile_side);
}
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const StageColumns &d) {
  if (d.width && d.width != few_columns) return "its teams have 8 or 32 columns";
  return why_not_staged(f, nest, d.loop, ThreadPath::columns, columns_of_team(d.width));
}

std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const StageChain &d) {
  const For &n = *nest.loops[d.loop].loop;
  for (const For *around : loops_around(nest, d.loop))
    if (!around || around->kind != ForKind::serial) return "one team does not execute all of it";
  bool has_grid = false;
  for (const NestLoop &l : nest.loops) has_grid = has_grid || (l.loop && l.loop->kind == ForKind::grid);
  // Beside launches, the loops around it may run on the host.
  if (has_grid && nest.loops[d.loop].parent != NestLoop::no_loop)
    return "one team does not execute all of it";
  if (!can_stage_chain(n)) return "it goes through no array of which parts can be copied";
  bool fits = shared_bytes(f.body) + exchanged_bytes + bytes_of_chain(n) <= most_shared_bytes;
  return fits ? "" : "its team has too large arrays";
}

std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const FoldFill &d) {
  Stmt at;
  for_each_in_block(f.body, [&](const Stmt &s) {
    if (as<For>(s) == nest.loops[d.loop].loop) at = s;
  });
  return at && foldable_output(f, at) ? "" : "it does not write a part of one output that is zero elsewhere";
}

std::string_view why_not_on_gpu(const Func &, const Nest &nest, const CacheRow &d) {
  const For &grid = *nest.loops[d.loop].loop;
  auto row = cacheable_row(grid, d.buf);
  if (!row) return "its teams do not write a row of the buffer first, and read it again";
  // A condition of the host stands around all loops of a launch.
  for (const For *around : loops_around(nest, d.loop))
    if (around && around->kind == ForKind::grid) return "a loop of the launch stands around it";
  int64_t teams = std::max<int64_t>(1, grid_nest(grid).back()->how.per_block);
  int64_t bytes = teams * row->elements * static_cast<int64_t>(item_size(d.buf->dtype));
  bool fits = bytes + exchanged_bytes + teams * shared_bytes(grid.body) <= most_shared_bytes;
  return fits ? "" : "its team has too large arrays";
}

std::string_view why_not_on_gpu(const Func &, const Nest &nest, const Unswitch &d) {
  return can_unswitch(*nest.loops[d.loop].loop) ? "" : "its body is no condition that holds in an interval";
}

std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const PrivateBins &d) {
  return why_not_flat(f, nest, d.loop);
}

std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const ScanLoop &d) {
  const For &n = *nest.loops[d.loop].loop;
  for (const For *around : loops_around(nest, d.loop))
    if (!around || around->kind != ForKind::serial) return "the loop around it has its kind already";
  if (!launchable_loops(f).count(&n)) return unknown_bounds;
  return scan_of(n, f.fp) ? "" : "it uses nothing that it accumulates in an order that does not show";
}

std::string_view why_not_on_gpu(const Func &, const Nest &nest, const Linearize &d) {
  for (const For *around : loops_around(nest, d.loop))
    if (around && around->kind == ForKind::grid) return "a grid loop stands around it";
  std::vector<const For *> loops = grid_nest(*nest.loops[d.loop].loop);
  if (loops.size() < 2) return "it is no grid loop, or has none in it";
  bool has_team = false;
  walk(loops.back()->body, [&](const For &n, const Stmt &) { has_team |= n.kind == ForKind::block; });
  if (has_team) return "a team shares a loop in it";
  for (size_t d2 = 1; d2 < loops.size(); ++d2)
    for (size_t e = 0; e < d2; ++e)
      if (mentions(loops[d2]->lo, loops[e]->iter) || mentions(loops[d2]->hi, loops[e]->iter))
        return "a loop in it has other bounds in each iteration";
  if (!d.below && !conditions_of_one_row(loops)) return "an array has no element for each iteration";
  return why_not_in_blocks(linear_loop(loops, {d.below, d.per_block, d.vector, d.unroll}), d);
}

}  // namespace kw
