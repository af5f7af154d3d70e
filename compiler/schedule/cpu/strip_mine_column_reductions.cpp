// Tries the directives of one loop over columns on a copy of the nest: all of them are applied, or none.
#include "schedule/cpu/steps.h"

#include <algorithm>

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "schedule/steps/distribute_loops.h"

namespace kw {

namespace {

/// Returns the columns of a strip, a power of two. Their scalars leave room for the rows in the L1 cache, and
/// a row of the strip is long enough for the prefetcher.
int64_t columns_at_once(const Target &target) {
  // The columns take an eighth of the L1 cache, at 8 bytes each; the rows need the rest. Chosen.
  constexpr int64_t widest_element = 8, share = 8;
  int64_t fit = static_cast<int64_t>(target.machine().l1_bytes) / share / widest_element;
  // 64 elements of a byte are a cache line. Chosen: the loop over strips stays cheap compared with its body.
  constexpr int64_t fewest = 64, most = 512;
  int64_t out = fewest;
  while (out * 2 <= fit) out *= 2;
  return std::min(out, most);
}

class Column {
 public:
  Column(const Nest &nest, uint32_t loop) : nest_(nest), loop_(loop) {}

  /// Returns whether all loops inside run down the columns: neighbouring columns are contiguous, and each
  /// iteration of an inner loop accesses another cache line.
  bool runs_down() const {
    const For *n = nest_.loops[loop_].loop;
    // Least number of columns. Chosen: fewer do not fill two vectors.
    constexpr uint64_t few = 32;
    if (!n || n->kind != ForKind::serial || n->hint == Hint::serial || n->step != 1) return false;
    if (auto trips = constant_trips(*n); trips && *trips < few) return false;
    std::vector<uint32_t> inner = loops_in(nest_, loop_);
    return !inner.empty() && std::all_of(inner.begin(), inner.end(), [&](uint32_t l) { return is_down(l); });
  }

 private:
  bool is_down(uint32_t inner) const {
    const For *n = nest_.loops[inner].loop;
    // Number of rows that must be exceeded. Chosen: a column of fewer rows stays in the L1 cache as it is.
    constexpr uint64_t few = 16;
    if (!n || n->kind != ForKind::serial || n->hint == Hint::serial) return false;
    if (auto trips = constant_trips(*n); trips && *trips <= few) return false;
    bool found = false;
    for (const NestStatement &s : nest_.statements) {
      if (!is_inside(s, inner)) continue;
      if (s.may || s.loops.back() != inner) return false;
      for (const NestAccess &a : s.accesses) {
        if (a.buf->space == Space::registers) continue;
        StrideKind across = stride_of(nest_, a, loop_), down = stride_of(nest_, a, inner);
        if (across != StrideKind::invariant && across != StrideKind::unit) return false;
        if (across == StrideKind::invariant) continue;
        if (down != StrideKind::strided || is_used_again(a)) return false;
        found = true;
      }
    }
    return found;
  }

  /// Returns whether a loop around the columns accesses the element again.
  bool is_used_again(const NestAccess &a) const {
    for (uint32_t l = nest_.loops[loop_].parent; l != NestLoop::no_loop; l = nest_.loops[l].parent)
      if (!nest_.loops[l].loop || stride_of(nest_, a, l) == StrideKind::invariant) return true;
    return false;
  }

  const Nest &nest_;
  uint32_t loop_;
};

/// Applies the directives of one loop, one after the other, until one is refused.
class Blocking {
 public:
  Blocking(LoopNest nest, int64_t columns) : nest_(std::move(nest)), columns_(columns) {}

  bool run(const Sym &iter) {
    std::optional<Sym> stretch = tile_parallel(nest_, iter, columns_);
    if (!stretch) return false;
    stretch_ = *stretch;
    return expand_scalars(nest_, iter) && reorder_all();
  }

  const LoopNest &nest() const { return nest_; }

 private:
  bool apply(const Directive &d) { return nest_.try_apply(d).ok(); }

  bool reorder_all() {
    auto pieces = distribute_all(nest_, stretch_, 0);
    for (size_t i = 0; pieces && i < pieces->count; ++i) {
      uint32_t across = loop_at(nest_.nest(), stretch_, i);
      std::vector<uint32_t> down = loops_in(nest_.nest(), across);
      if (!down.empty() && !apply(Reorder{{down[0], across}})) return false;
    }
    return pieces.has_value();
  }

  LoopNest nest_;
  int64_t columns_;
  Sym stretch_;  ///< the iterator over strips
};

}  // namespace

void strip_mine_column_reductions(LoopNest &nest, const Target &target) {
  std::vector<Sym> found;
  for (uint32_t l = 0; l < nest.nest().loops.size(); ++l)
    if (Column(nest.nest(), l).runs_down()) found.push_back(nest.nest().loops[l].loop->iter);
  for (const Sym &iter : found) {
    Blocking blocking(nest, columns_at_once(target));
    if (blocking.run(iter)) nest = blocking.nest();
  }
}

}  // namespace kw
