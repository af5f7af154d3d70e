// Looks at what the innermost loop accesses.
#include "schedule/gpu/threads.h"

#include <algorithm>

#include "analysis/gpu/vector_accesses.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/limits.h"
#include "ir/walk.h"
#include "schedule/launches/linear_grid.h"

namespace kw {

namespace {

/// Threads of a block. Chosen: eight and four warps; a multiprocessor holds 2,048 threads in 32 blocks or
/// fewer. Where threads go on for different times, a block ends with its last one: it has four warps.
constexpr int64_t threads_of_line = 256, threads_of_row = 128;
/// Threads of a block whose threads each execute a loop. Chosen: a warp, so that 4,096 columns have work for
/// as many multiprocessors as there are; each of them holds 32 blocks.
constexpr int64_t threads_of_column = warp_threads;
/// Rows that a thread executes if they share what they read. Chosen: a column of three then takes 10 loads
/// instead of 24.
constexpr int64_t rows_of_thread = 8;
/// Iterations of a thread that are apart. Chosen: 16 bytes of float32 are under way, as with vectors.
constexpr int64_t iterations_of_thread = 4;

/// Returns the threads of a block.
int64_t threads_of_block(const LoopNest &nest, const std::vector<Sym> &loops) {
  if (loops.size() > 1) return threads_of_row;
  bool has_long_loop = false, has_while = false;
  walk(
      nest.nest().loops[*find_loop(nest.nest(), loops[0])].loop->body,
      [&](const For &n, const Stmt &) { has_long_loop |= !is_surely_small(n); },
      [&](const While &, const Stmt &) { has_while = true; });
  return has_long_loop ? threads_of_column : has_while ? threads_of_row : threads_of_line;
}

/// Returns whether two reads are of one buffer, at places that differ by a number of iterations of the loop
/// `row`, and perhaps of the one in it.
bool are_shifted(const Nest &nest, const NestAccess &a, const NestAccess &b, uint32_t row, uint32_t inner) {
  if (a.buf != b.buf || a.subscripts.size() != b.subscripts.size()) return false;
  bool shifted = false;
  for (size_t d = 0; d < a.subscripts.size(); ++d) {
    LinearForm x = a.subscripts[d], y = b.subscripts[d];
    int64_t apart = x.constant - y.constant;
    x.constant = y.constant = 0;
    bool of_row = factor_of(nest, x, row), of_inner = factor_of(nest, x, inner);
    if (x != y || (apart && !of_row && !of_inner)) return false;
    shifted = shifted || (apart && of_row);
  }
  return shifted;
}

/// Returns whether iterations of the loop `row` read elements that later ones read as well.
bool reads_again(const Nest &nest, uint32_t row, uint32_t inner) {
  std::vector<const NestAccess *> reads;
  for (const NestStatement &s : nest.statements)
    for (const NestAccess &a : s.accesses)
      if (is_inside(s, inner) && !a.is_write && a.buf->rank()) reads.push_back(&a);
  for (size_t i = 0; i < reads.size(); ++i)
    for (size_t j = i + 1; j < reads.size(); ++j)
      if (are_shifted(nest, *reads[i], *reads[j], row, inner)) return true;
  return false;
}

/// Launches the loops so that a thread executes an element of several rows, if these share what they read.
/// Returns the outermost loop of the launch, or null.
Sym launch_rows(LoopNest &nest, const std::vector<Sym> &loops) {
  if (loops.size() < 2) return {};
  LoopNest trial = nest;
  auto number = [&](const Sym &iter) { return *find_loop(trial.nest(), iter); };
  const Sym &row = loops[loops.size() - 2], &inner = loops.back();
  auto trips = most_trips(*trial.nest().loops[number(row)].loop);
  bool fits = (!trips || *trips >= static_cast<uint64_t>(rows_of_thread)) &&
              is_short_on_gpu(*trial.nest().loops[number(inner)].loop) &&
              reads_again(trial.nest(), number(row), number(inner));
  if (!fits || !trial.try_apply(Tile{{number(row)}, {rows_of_thread}}).ok()) return {};
  Sym rows = trial.nest().loops[trial.nest().loops[number(row)].parent].loop->iter;
  if (!trial.try_apply(Reorder{{number(inner), number(row)}}).ok()) return {};
  std::vector<Sym> launched(loops.begin(), loops.end() - 2);
  launched.push_back(rows), launched.push_back(inner);
  launch_blocks(trial, launched, threads_of_row);
  if (!trial.try_apply(Unroll{number(row), rows_of_thread}).ok()) return {};
  // Rows share what they load if no condition stands around each of them.
  if (auto loop = find_loop(trial.nest(), row)) trial.try_apply(Unswitch{*loop});
  nest = trial;
  return launched.front();
}

/// How many iterations the threads of a block execute.
struct ThreadPlan {
  int64_t per_block = 0, vector = 0, unroll = 0;
};
/// Vectors of a thread, of each array. Chosen: a thread of `a + b` has 128 bytes under way, in 32 registers.
int64_t vectors_of_thread(const For &n, int64_t vector) {
  constexpr int64_t most = 4;
  constexpr size_t few_arrays = 3;
  constexpr uint32_t few_operations = 4, some_operations = 12;  // of which there are as many copies
  size_t arrays = vector_loop(n, vector).accesses.size();
  uint32_t operations = operations_on_gpu(n);
  if (operations > some_operations) return 1;
  return operations <= few_operations && arrays <= few_arrays ? most : most / 2;
}
/// `is_line`: the loop's elements are not cut in rows.
ThreadPlan thread_plan(const For &n, int64_t threads, bool is_line) {
  if (int64_t vector = vector_width_on_gpu(n); vector > 1) {
    int64_t vectors = is_line ? vectors_of_thread(n, vector) : 1;
    auto trips = most_trips(n);
    if (trips && *trips < static_cast<uint64_t>(threads * vector * vectors)) vectors = 1;
    return {threads * vector * vectors, vector, vectors > 1 ? vectors : 0};
  }
  auto trips = most_trips(n);
  bool is_long = !trips || *trips > static_cast<uint64_t>(threads * iterations_of_thread);
  if (is_long && is_short_on_gpu(n)) return {threads * iterations_of_thread, 0, iterations_of_thread};
  return {threads};
}

/// Rows that are shorter fill no block of threads. Chosen.
constexpr int64_t short_row = threads_of_row;

/// Launches loops that stand in one another as one where that fills more threads: for arrays that are one
/// row, or in calls with short rows.
void linearize(LoopNest &nest, const Sym &outer) {
  const NestLoop &loop = nest.nest().loops[*find_loop(nest.nest(), outer)];
  std::vector<const For *> loops = loop.loop ? grid_nest(*loop.loop) : std::vector<const For *>();
  if (loops.size() < 2) return;
  LinearPlan plan;
  if (!conditions_of_one_row(loops)) {
    auto trips = constant_trips(*loops.back());
    if (trips && *trips >= static_cast<uint64_t>(short_row)) return;
    plan.below = short_row;
  }
  ThreadPlan each = thread_plan(linear_loop(loops, plan), threads_of_line, true);
  nest.try_apply(
      Linearize{*find_loop(nest.nest(), outer), plan.below, each.per_block, each.vector, each.unroll});
}

}  // namespace

bool is_surely_small(const For &n) {
  auto trips = most_trips(n);
  return trips && *trips < static_cast<uint64_t>(warp_threads);
}

std::vector<Sym> copies_of(const std::vector<Sym> &loops, const LoopNest &before, const LoopNest &after) {
  std::vector<Sym> out;
  for (const Sym &iter : loops) out.push_back(after.nest().loops[*find_loop(before.nest(), iter)].loop->iter);
  return out;
}

void launch_blocks(LoopNest &nest, const std::vector<Sym> &loops, int64_t per_block) {
  for (const Sym &iter : loops)
    nest.try_apply(Grid{*find_loop(nest.nest(), iter), iter == loops.back() ? per_block : 1});
}

void launch_threads(LoopNest &nest, const std::vector<Sym> &loops) {
  const For &inner = *nest.nest().loops[*find_loop(nest.nest(), loops.back())].loop;
  int64_t threads = threads_of_block(nest, loops);
  ThreadPlan each = thread_plan(inner, threads, loops.size() == 1);
  Sym outer = each.vector ? Sym{} : launch_rows(nest, loops);
  if (!outer) {
    outer = loops.front();
    launch_blocks(nest, {loops.begin(), loops.end() - 1}, 1);
    uint32_t loop = *find_loop(nest.nest(), loops.back());
    if (!nest.try_apply(Grid{loop, each.per_block, each.vector, each.unroll}).ok())
      nest.try_apply(Grid{loop, threads});
  }
  linearize(nest, outer);
}

}  // namespace kw
