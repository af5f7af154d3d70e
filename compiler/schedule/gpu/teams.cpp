// Compares what the 32 threads of a warp load and store at once.
#include "schedule/gpu/teams.h"

#include <algorithm>

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Returns the sectors of 32 bytes that a warp accesses at once, for elements of 4 bytes: a sector serves
/// eight threads side by side, about two of a short stride, or one (CUDA C++ Best Practices Guide, 10.2.1).
int64_t sectors_of(StrideKind stride) {
  constexpr int64_t side_by_side = 8, near = 2;
  switch (stride) {
    case StrideKind::invariant: return 1;
    case StrideKind::unit: return warp_threads / side_by_side;
    case StrideKind::same_line: return warp_threads / near;
    default: return warp_threads;
  }
}

class TeamChooser {
 public:
  TeamChooser(const LoopNest &nest, std::optional<uint32_t> grid) : nest_(nest), grid_(grid) {}

  std::vector<Sym> run() {
    block(grid_ ? nest_.nest().loops[*grid_].loop->body : nest_.region());
    return std::move(chosen_);
  }

 private:
  void block(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      const For *n = as<For>(s);
      if (n && n->kind == ForKind::grid) return;
      if (n && suits(*n)) return chosen_.push_back(n->iter);
      for_each_block(s, [&](const Stmt &inner) { block(inner); });
    });
  }

  bool suits(const For &n) const {
    auto trips = most_trips(n);
    if (n.hint == Hint::serial || (trips && *trips < static_cast<uint64_t>(warp_threads))) return false;
    std::optional<uint32_t> loop = find_loop(nest_.nest(), n.iter);
    return loop && (!grid_ || is_nearer(*loop, *grid_)) && nest_.legal(Team{*loop, warp_threads}).ok();
  }

  /// Returns whether the loop's iterations access fewer sectors at once than those of the grid loop.
  bool is_nearer(uint32_t loop, uint32_t grid) const {
    const Nest &nest = nest_.nest();
    int64_t by_loop = 0, by_grid = 0;
    for (const NestStatement &s : nest.statements) {
      if (!is_inside(s, loop)) continue;
      for (const NestAccess &a : s.accesses) {
        if (a.buf->rank() == 0) continue;
        by_loop += sectors_of(stride_of(nest, a, loop));
        // What an iteration of the grid makes for itself, threads access each in memory of its own.
        bool is_own = a.home > nest_depth(s, grid);
        by_grid += is_own ? sectors_of(StrideKind::strided) : sectors_of(stride_of(nest, a, grid));
      }
    }
    return by_loop < by_grid;
  }
  /// Returns the number of loops around a loop of a statement.
  static size_t nest_depth(const NestStatement &s, uint32_t loop) {
    return static_cast<size_t>(std::find(s.loops.begin(), s.loops.end(), loop) - s.loops.begin());
  }

  const LoopNest &nest_;
  std::optional<uint32_t> grid_;
  std::vector<Sym> chosen_;
};

}  // namespace

std::vector<Sym> loops_for_teams(const LoopNest &nest, const Sym &grid) {
  return TeamChooser(nest, *find_loop(nest.nest(), grid)).run();
}
std::vector<Sym> loops_for_one_team(const LoopNest &nest) { return TeamChooser(nest, {}).run(); }

}  // namespace kw
