// Asks of pairs of innermost loops only; the first that gains and may is cut, then the loops are looked at
// anew.
#include "schedule/steps/tile_transposed_accesses.h"

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
constexpr int64_t side = 64;        // elements: whole lines of memory, and both squares fit the first cache
constexpr int64_t long_side = 256;  // elements: what the machine reads ahead of itself

/// True when an index grows with the iterator and depends on it in no other way.
bool grows_with(const Expr &index, const Sym &iter) {
  auto form = affine_of(index);
  return form && std::any_of(form->terms.begin(), form->terms.end(), [&](const AffineTerm &t) {
           const Ref *r = as<Ref>(t.atom);
           return r && r->sym == iter;
         });
}

/// The accesses of a body whose elements lie side by side along one iterator, and apart along another.
struct Directions {
  bool along_outer = false, along_inner = false;
  bool writes_outer = false, writes_inner = false;  ///< of stores among them
  uint32_t bits = 0;                                ///< of the widest element

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

/// With what is read along the outer loop, where dependences let the loops change places.
bool tile(LoopNest &nest, uint32_t l, const Directions &seen) {
  bool lines = TransposedBlocks::supports(seen.bits);
  std::vector<int64_t> sizes{side, side};
  if (lines) sizes = {long_side, line_bytes * 8 / seen.bits};
  if (lines && seen.writes_outer && !seen.writes_inner) {
    Directive outwards{Reorder{{l + 1, l}}, "what is read lies along the outer loop"};
    if (!nest.try_apply(outwards).ok()) return false;  // then they may not be cut either
  }
  Directive d{Tile{{l, l + 1}, std::move(sizes)}, "read along one loop, written along the other"};
  return nest.try_apply(d).ok();
}

bool may_be_cut(const For &n) {
  auto trips = constant_trips(n);
  return n.step == 1 && n.hint != Hint::serial && (!trips || *trips > 2 * static_cast<uint64_t>(side));
}

/// `done` are the iterators of loops that are cut already.
bool strip_one(LoopNest &nest, std::unordered_set<const SymNode *> &done) {
  const std::vector<NestLoop> &loops = nest.nest().loops;
  for (uint32_t l = 0; l < loops.size(); ++l) {
    const For *outer = loops[l].loop, *inner = outer ? as<For>(outer->body) : nullptr;
    if (!inner || as<For>(inner->body) || done.count(inner->iter.get())) continue;
    if (!may_be_cut(*outer) || !may_be_cut(*inner)) continue;
    Directions seen = directions_of(*outer, *inner);
    if (!seen.along_outer || !seen.along_inner) continue;
    done.insert(inner->iter.get()), done.insert(outer->iter.get());  // they may change places
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
