// Goes down each path of the nest to the first loop that may be launched.
#include "schedule/gpu/steps.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/gpu/launch_form.h"
#include "analysis/gpu/vector_accesses.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "schedule/gpu/teams.h"
#include "schedule/gpu/threads.h"
#include "schedule/gpu/tiles.h"
#include "schedule/launches/staging.h"
#include "schedule/steps/steps.h"
#include "schedule/tree/accesses.h"

namespace kw {

namespace {

/// Chooses the outermost loops to launch.
class GridChooser {
 public:
  explicit GridChooser(const LoopNest &nest) : nest_(nest) {
    const std::vector<NestLoop> &loops = nest.nest().loops;
    for (uint32_t l = 0; l < loops.size(); ++l)
      if (loops[l].loop) numbers_[loops[l].loop] = l;
  }

  /// Returns the iterators of the chosen loops in source order.
  std::vector<Sym> run() {
    block(nest_.region());
    return std::move(chosen_);
  }

 private:
  void block(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      if (const For *n = as<For>(s))
        loop(*n);
      else
        for_each_block(s, [&](const Stmt &inner) { block(inner); });
    });
  }

  /// A small loop is launched if it stands in no loop of the host and no larger loop in it can be launched.
  void loop(const For &n) {
    if (n.kind != ForKind::serial) return;
    bool fits = n.hint != Hint::serial && nest_.legal(Grid{numbers_.at(&n), 1}).ok();
    bool small = is_surely_small(n);
    if (fits && !small) return chosen_.push_back(n.iter);
    size_t before = chosen_.size();
    ++host_loops_;
    block(n.body);
    --host_loops_;
    if (fits && chosen_.size() == before && !host_loops_) chosen_.push_back(n.iter);
  }

  const LoopNest &nest_;
  std::unordered_map<const For *, uint32_t> numbers_;
  std::vector<Sym> chosen_;
  int host_loops_ = 0;
};

/// Returns the loop that is all of a loop, unless it surely has few iterations.
const For *row_in(const For &n) {
  const For *inner = only_loop(n.body);
  return inner && inner->hint != Hint::serial && !is_surely_small(*inner) ? inner : nullptr;
}

/// Returns the iterators of the loops that can be launched together, from an outermost one inwards. An inner
/// loop does not add atomic operations: a thread that sums alone needs none.
///     for i: for j: s[i] += x[i, j]   launches i; for i: for j: s += x[i, j] launches both
std::vector<Sym> loops_of_launch(const LoopNest &nest, const Sym &outer) {
  LoopNest trial = nest;
  trial.record(false);
  std::vector<Sym> out;
  std::vector<Buf> atomics;
  for (Sym iter = outer; iter;) {
    uint32_t loop = *find_loop(trial.nest(), iter);
    Verdict v = trial.try_apply(Grid{loop, 1});
    if (!v.ok()) break;
    bool adds = std::any_of(v.accumulators.begin(), v.accumulators.end(), [&](const Buf &b) {
      return std::find(atomics.begin(), atomics.end(), b) == atomics.end();
    });
    if (adds && !out.empty()) break;
    if (out.empty()) atomics = v.accumulators;
    out.push_back(iter);
    const For *row = row_in(*trial.nest().loops[*find_loop(trial.nest(), iter)].loop);
    iter = row ? row->iter : Sym{};
  }
  return out;
}

/// Launches a loop in whose rows threads would each go their own way, or whose columns threads go down in
/// their order (StageRows, StageColumns). Returns whether it does.
template <class Directive>
bool stage_paths(LoopNest &nest, const std::vector<Sym> &loops, Directive how = {}) {
  LoopNest trial = nest;
  auto number = [&](const Sym &iter) { return *find_loop(trial.nest(), iter); };
  for (uint32_t l : loops_in(nest.nest(), number(loops.back())))
    if (const For *n = nest.nest().loops[l].loop; n && is_surely_small(*n)) return false;
  for (size_t i = 0; i + 1 < loops.size(); ++i)
    if (!trial.try_apply(Grid{number(loops[i]), 1}).ok()) return false;
  // What an iteration hands to the next by memory would be no copy of a row.
  std::vector<Sym> inner;
  for (uint32_t l : loops_in(trial.nest(), number(loops.back())))
    if (const For *n = trial.nest().loops[l].loop) inner.push_back(n->iter);
  replace_carried_values(trial, inner);
  auto rows = find_loop(trial.nest(), loops.back());
  if (!rows) return false;
  how.loop = *rows;
  if (!trial.try_apply(how).ok()) return false;
  nest = trial;
  return true;
}

/// Returns whether loops that run in their order in the last of these load all that they load with a stride
/// from places of which no other iteration of the launch loads: tiles of it serve one team.
bool loads_columns_once(const Nest &nest, const std::vector<Sym> &loops) {
  bool found = false, once = true;
  uint32_t last = *find_loop(nest, loops.back());
  for (const NestStatement &s : nest.statements)
    for (const NestAccess &a : s.accesses) {
      if (!is_inside(s, last) || s.loops.back() == last || a.is_write || a.buf->rank() < 2) continue;
      if (stride_of(nest, a, s.loops.back()) < StrideKind::strided) continue;
      found = true;
      for (const Sym &iter : loops)
        once = once && stride_of(nest, a, *find_loop(nest, iter)) != StrideKind::invariant;
    }
  return found && once;
}

/// Columns from which on a warp for 32 of them keeps all multiprocessors of an H100 busy: 32 for each of 132.
constexpr int64_t many_columns = 4224;

/// Launches loops whose columns threads go down (StageColumns): where one loop over few columns is all that
/// is launched, or in calls that have few, a warp for eight of them. Returns whether it does.
bool launch_columns(LoopNest &nest, const std::vector<Sym> &loops) {
  if (loops.size() > 1) return stage_paths<StageColumns>(nest, loops);
  uint32_t number = *find_loop(nest.nest(), loops[0]);
  if (auto trips = constant_trips(*nest.nest().loops[number].loop)) {
    bool is_few = *trips < static_cast<uint64_t>(many_columns);
    return stage_paths(nest, loops, StageColumns{0, is_few ? few_columns : 0});
  }
  LoopNest trial = nest;
  if (!trial.try_apply(Specialize{number, many_columns}).ok()) return stage_paths<StageColumns>(nest, loops);
  bool is_staged = stage_paths(trial, copies_of(loops, nest, trial), StageColumns{0, few_columns}) &&
                   stage_paths<StageColumns>(trial, loops);
  if (is_staged) nest = trial;
  return is_staged;
}

/// Returns the first of these loops that runs over all of a row, whose trip count is its length, or else over
/// a row but its first elements; null if none does.
Sym loop_over_row(const Nest &nest, const std::vector<Sym> &shared) {
  Sym out;
  for (const Sym &iter : shared) {
    auto lo = as_int(nest.loops[*find_loop(nest, iter)].loop->lo);
    if (lo == 0) return iter;
    if (lo && !out) out = iter;
  }
  return out;
}

/// Returns whether the loops that go through a row access a window of it, or of several rows: only the
/// element at the iterator is copied, so threads that each have a row would be apart.
bool accesses_windows(const Nest &nest, const Sym &rows, const std::vector<Sym> &shared) {
  uint32_t outer = *find_loop(nest, rows);
  for (const NestStatement &s : nest.statements)
    for (const NestAccess &a : s.accesses)
      for (const Sym &iter : shared) {
        uint32_t inner = *find_loop(nest, iter);
        bool goes_along = is_inside(s, inner) && a.buf->rank() > 0 && mentions(a.index.back(), iter) &&
                          stride_of(nest, a, outer) != StrideKind::invariant;
        if (goes_along && !is_iterator(a.index.back(), iter)) return true;
      }
  return false;
}

/// Gives calls with short rows a copy of a launch in which each thread goes through a row, of which teams
/// copy tiles. A warp would have no work for most of its threads.
///     for i: for j in (0, n): s += x[i, j]   →   if n < 64: tiles of 32 rows  else: for i: …
void launch_short_rows(LoopNest &nest, const std::vector<Sym> &loops, const std::vector<Sym> &shared) {
  LoopNest trial = nest;
  auto number = [&](const Sym &iter) { return *find_loop(nest.nest(), iter); };
  Sym row = loop_over_row(nest.nest(), shared);
  if (!row || constant_trips(*nest.nest().loops[number(row)].loop)) return;
  if (accesses_windows(nest.nest(), loops.back(), shared)) return;
  if (!trial.try_apply(ShortRows{number(loops.front()), number(row)}).ok()) return;
  if (stage_paths<StageRows>(trial, copies_of(loops, nest, trial))) nest = trial;
}

/// Returns the loops that teams would share in a launch of these loops.
std::vector<Sym> loops_of_teams(const LoopNest &nest, const std::vector<Sym> &loops) {
  LoopNest trial = nest;
  trial.record(false);
  launch_blocks(trial, loops, teams_of_block);
  return loops_for_teams(trial, loops.back());
}

/// Rows that fill a GPU when each has a warp. Chosen: 16 for each of 128 multiprocessors, which hold 64
/// warps.
constexpr int64_t many_rows = 2048;

/// Rows that are longer pay for a block each: its threads have four elements or more. A warp for each would
/// also have so many rows under way that none of them stays in a cache until it is read again. Chosen.
constexpr int64_t long_row = 4 * block_team_threads;

/// Lets threads share a loop.
void share(LoopNest &nest, uint32_t loop, int64_t threads) {
  const For &n = *nest.nest().loops[loop].loop;
  int64_t vector = team_vector_width(n);
  auto trips = most_trips(n);
  bool has_work = !trips || *trips >= static_cast<uint64_t>(vector * threads);  // for all threads
  nest.try_apply(Team{loop, threads, vector > 1 && has_work ? vector : 0, team_unroll(n)});
}

/// Launches loops with a block for each of their iterations, whose threads share the loops in them.
void apply_block_teams(LoopNest &nest, const std::vector<Sym> &rows, const std::vector<Sym> &shared) {
  for (const Sym &iter : rows) nest.try_apply(Grid{*find_loop(nest.nest(), iter), 1});
  for (const Sym &iter : shared) share(nest, *find_loop(nest.nest(), iter), block_team_threads);
}

/// Launches loops over few or long rows, or their copy for calls that have such, with a block for each row.
/// Returns whether rows remain that need a warp each. How many rows several loops have is not looked at.
bool launch_by_blocks(LoopNest &nest, const std::vector<Sym> &rows, const std::vector<Sym> &shared) {
  auto number = [&](const Sym &iter) { return *find_loop(nest.nest(), iter); };
  auto loop = [&](const Sym &iter) -> const For & { return *nest.nest().loops[number(iter)].loop; };
  bool are_short = std::all_of(shared.begin(), shared.end(), [&](const Sym &iter) {
    auto trips = most_trips(loop(iter));
    return trips && *trips <= static_cast<uint64_t>(block_team_threads);
  });
  if (are_short) return true;
  bool is_one = rows.size() == 1;
  auto most = is_one ? most_trips(loop(rows.front())) : std::nullopt;
  Sym whole = loop_over_row(nest.nest(), shared), row = whole ? whole : shared.front();
  auto length = constant_trips(loop(row));
  bool surely = (most && *most < static_cast<uint64_t>(many_rows)) ||
                (length && *length >= static_cast<uint64_t>(long_row));
  if (surely) return apply_block_teams(nest, rows, shared), false;
  LoopNest trial = nest;
  Specialize by_rows{number(rows.front()), many_rows},
      by_length{number(rows.front()), is_one ? many_rows : 0};
  by_length.inner = number(row), by_length.from = long_row;
  bool asks_rows = is_one && !constant_trips(loop(rows.front()));
  bool is_copied =
      (!length && trial.try_apply(by_length).ok()) || (asks_rows && trial.try_apply(by_rows).ok());
  if (!is_copied) return true;
  apply_block_teams(trial, copies_of(rows, nest, trial), copies_of(shared, nest, trial));
  nest = trial;
  return true;
}

/// Chooses for each loop alone if the nest is too large to be analysed as one.
void map_in_parts(LoopNest &nest, const Target &target) {
  nest.reject("analysis of all loops together", "the kernel is too large: each loop is launched alone");
  std::vector<LoopAlone> parts = nest.loops_alone();
  for (LoopAlone &part : parts) map_grids(part.nest, target);
  nest.take_parts(parts);
}

}  // namespace

void map_grids(LoopNest &nest, const Target &target) {
  if (!nest.nest().complete) return map_in_parts(nest, target);
  for (const Sym &outer : GridChooser(nest).run()) {
    std::vector<Sym> loops = loops_of_launch(nest, outer);
    if (stage_tiles(nest, loops)) continue;
    if (std::vector<Sym> shared = loops_of_teams(nest, loops); !shared.empty()) {
      launch_short_rows(nest, loops, shared);
      if (!launch_by_blocks(nest, loops, shared)) continue;
      launch_blocks(nest, loops, teams_of_block);
      for (const Sym &iter : shared) share(nest, *find_loop(nest.nest(), iter), warp_threads);
    } else if (!stage_paths<StageRows>(nest, loops) &&
               !(loads_columns_once(nest.nest(), loops) && launch_columns(nest, loops))) {
      launch_threads(nest, loops);
    }
  }
  for (const Sym &iter : loops_for_one_team(nest))
    share(nest, *find_loop(nest.nest(), iter), block_team_threads);
}

}  // namespace kw
