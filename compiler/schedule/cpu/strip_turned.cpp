// Asks of pairs of innermost loops only; the first that gains and may is cut, then the loops are looked at
// anew.
#include "schedule/cpu/strip_turned.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/affine.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/tree/ranges.h"

namespace kw {

namespace {

constexpr int64_t side = 64;  // elements: whole lines of memory, and both squares fit the first cache

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

  void note(const Buf &b, const std::vector<Expr> &index, const Sym &outer, const Sym &inner) {
    if (index.empty()) return;
    bool unit = b->strides.empty() || as_int(b->strides.back()) == 1;
    bool last_outer = grows_with(index.back(), outer), last_inner = grows_with(index.back(), inner);
    bool apart_outer = false, apart_inner = false;
    for (size_t d = 0; d + 1 < index.size(); ++d)
      apart_outer |= grows_with(index[d], outer), apart_inner |= grows_with(index[d], inner);
    along_outer |= unit && last_outer && !last_inner && apart_inner;
    along_inner |= unit && last_inner && !last_outer && apart_outer;
  }
};

bool is_turned(const For &outer, const For &inner) {
  Directions seen;
  walk(inner.body, [&](const Store &n, const Stmt &) { seen.note(n.buf, n.index, outer.iter, inner.iter); });
  walk(inner.body, [&](const Load &n, const Expr &) { seen.note(n.buf, n.index, outer.iter, inner.iter); });
  return seen.along_outer && seen.along_inner;
}

bool is_short(const For &n) {
  auto trips = constant_trips(n);
  return trips && *trips <= 2 * static_cast<uint64_t>(side);
}

/// `done` are the iterators of loops that are cut already.
bool strip_one(LoopNest &nest, std::unordered_set<const SymNode *> &done) {
  const std::vector<NestLoop> &loops = nest.nest().loops;
  for (uint32_t l = 0; l < loops.size(); ++l) {
    const For *outer = loops[l].loop, *inner = outer ? as<For>(outer->body) : nullptr;
    if (!inner || as<For>(inner->body) || outer->step != 1 || inner->step != 1) continue;
    if (done.count(inner->iter.get()) || is_short(*outer) || is_short(*inner) || !is_turned(*outer, *inner))
      continue;
    Directive d{Directive::Verb::strip, l, {l + 1}, {side, side}};
    d.reason = "read along one loop, written along the other";
    done.insert(inner->iter.get());
    if (nest.try_apply(d).ok()) return true;
  }
  return false;
}

}  // namespace

void strip_turned(LoopNest &nest) {
  std::unordered_set<const SymNode *> done;
  while (strip_one(nest, done)) {
  }
}

}  // namespace kw
