// Examines pairs of innermost loops. Tiles the first pair that gains and is legal, then examines the loops
// anew.
#include "schedule/steps/steps.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/affine.h"
#include "analysis/nest/trip_counts.h"
#include "analysis/vector/register_transpose.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

constexpr int64_t line_bytes = cache_line;
// Elements, for types of 8 and 16 bits. Chosen: rows are whole cache lines, and two squares take 16 KB of the
// L1 cache at most.
constexpr int64_t cpu_tile_side = 64;
// Elements. Chosen: a row is long enough for the hardware prefetcher.
constexpr int64_t long_side = 256;

/// Returns whether the iterator is a linear term of the index.
bool grows_with(const Expr &index, const Sym &iter) {
  auto form = affine_of(index);
  return form && std::any_of(form->terms.begin(), form->terms.end(), [&](const AffineTerm &t) {
           const Ref *r = as<Ref>(t.atom);
           return r && r->sym == iter;
         });
}

/// The accesses of a body that are contiguous along one iterator and strided along the other.
struct Directions {
  bool along_outer = false, along_inner = false;
  bool writes_outer = false, writes_inner = false;  ///< stores among these accesses
  uint32_t bits = 0;                                ///< bits of the widest element

  void note(const Buf &b, const std::vector<Expr> &index, const Sym &outer, const Sym &inner, bool writes) {
    bits = std::max(bits, bit_width(b->dtype));
    if (index.empty()) return;
    bool unit = b->strides.empty() || as_int(b->strides.back()) == 1;
    bool last_outer = grows_with(index.back(), outer), last_inner = grows_with(index.back(), inner);
    bool apart_outer = false, apart_inner = false;
    for (size_t d = 0; d + 1 < index.size(); ++d)
      apart_outer |= grows_with(index[d], outer), apart_inner |= grows_with(index[d], inner);
    bool outwards = unit && last_outer && !last_inner && apart_inner;
    bool inwards = unit && last_inner && !last_outer && apart_outer;
    along_outer |= outwards, along_inner |= inwards;
    writes_outer |= writes && outwards, writes_inner |= writes && inwards;
  }
};

Directions directions_of(const For &outer, const For &inner) {
  Directions seen;
  walk(inner.body,
       [&](const Store &n, const Stmt &) { seen.note(n.buf, n.index, outer.iter, inner.iter, true); });
  walk(inner.body,
       [&](const Load &n, const Expr &) { seen.note(n.buf, n.index, outer.iter, inner.iter, false); });
  return seen;
}

/// Tiles two loops. If only the outer loop is written along, exchanges the loops first, so that reads run
/// along the outer loop.
bool tile(LoopNest &nest, uint32_t l, const Directions &seen) {
  bool lines = TransposedBlocks::supports(seen.bits);
  std::vector<int64_t> sizes{cpu_tile_side, cpu_tile_side};
  if (lines) sizes = {long_side, line_bytes * 8 / seen.bits};
  if (lines && seen.writes_outer && !seen.writes_inner) {
    Directive outwards{Reorder{{l + 1, l}}, "what is read lies along the outer loop"};
    if (!nest.try_apply(outwards).ok()) return false;  // then tiling is illegal too
  }
  Directive d{Tile{{l, l + 1}, std::move(sizes)}, "read along one loop, written along the other"};
  return nest.try_apply(d).ok();
}

bool may_be_tiled(const For &n) {
  auto trips = constant_trips(n);
  // Chosen: a loop of up to two square tiles is too short for a loop over tiles.
  return n.step == 1 && n.hint != Hint::serial &&
         (!trips || *trips > 2 * static_cast<uint64_t>(cpu_tile_side));
}

/// Tiles the first pair that gains; returns false if there is none. `done`: the iterators of loops that were
/// tried.
bool strip_one(LoopNest &nest, std::unordered_set<const SymNode *> &done) {
  const std::vector<NestLoop> &loops = nest.nest().loops;
  for (uint32_t l = 0; l < loops.size(); ++l) {
    const For *outer = loops[l].loop, *inner = outer ? as<For>(outer->body) : nullptr;
    if (!inner || as<For>(inner->body) || done.count(inner->iter.get())) continue;
    if (!may_be_tiled(*outer) || !may_be_tiled(*inner)) continue;
    Directions seen = directions_of(*outer, *inner);
    if (!seen.along_outer || !seen.along_inner) continue;
    done.insert(inner->iter.get()), done.insert(outer->iter.get());  // reordering may exchange the two
    if (tile(nest, l, seen)) return true;
  }
  return false;
}

}  // namespace

void tile_transposed_accesses(LoopNest &nest) {
  std::unordered_set<const SymNode *> done;
  while (strip_one(nest, done)) {
  }
}

}  // namespace kw
