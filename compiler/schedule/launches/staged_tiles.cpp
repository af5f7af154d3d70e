// The loops over a tile count its elements, so that no barrier stands between their rows.
#include "schedule/launches/staged_tiles.h"

#include <algorithm>

#include "analysis/gpu/combined_values.h"
#include "analysis/gpu/vector_accesses.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/launches/row_accesses.h"
#include "schedule/launches/staging.h"
#include "schedule/launches/tile_frame.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// Notes the loads of a body, and the buffers that it may not stage.
struct Loads {
  std::vector<std::pair<Buf, std::vector<Expr>>> read;
  std::unordered_set<const BufNode *> refused;

  explicit Loads(const Stmt &body) {
    std::unordered_set<const SymNode *> bound;
    walk(
        body, [&](const Store &n, const Stmt &) { refused.insert(n.buf.get()); },
        [&](const Let &n, const Stmt &) { bound.insert(n.sym.get()); },
        [&](const For &n, const Stmt &) { bound.insert(n.iter.get()); },
        [&](const Select &n, const Expr &) { refuse(n.yes), refuse(n.no); },
        [&](const Logic &n, const Expr &) { refuse(n.b); });
    // What only some iterations evaluate may lie out of bounds in the others.
    walk(
        body, [&](const If &n, const Stmt &) { refuse_all(n.yes), n.no ? refuse_all(n.no) : void(); },
        [&](const For &n, const Stmt &) { refuse_all(n.body); },
        [&](const While &n, const Stmt &) { refuse(n.cond), refuse_all(n.body); });
    for_each_evaluated(body, [&](const Expr &root) {
      walk(root, [&](const Load &n, const Expr &) {
        for (const Expr &i : n.index) {
          walk(i, [&](const Ref &r, const Expr &) {
            if (bound.count(r.sym.get())) refused.insert(n.buf.get());
          });
          if (has_load(i)) refused.insert(n.buf.get());
        }
        auto known = std::find_if(read.begin(), read.end(), [&](const auto &r) { return r.first == n.buf; });
        if (known == read.end())
          read.emplace_back(n.buf, n.index);
        else if (!equal(known->second, n.index))
          refused.insert(n.buf.get());
      });
    });
  }

 private:
  void refuse(const Expr &e) {
    walk(e, [&](const Load &n, const Expr &) { refused.insert(n.buf.get()); });
  }
  void refuse_all(const Stmt &s) {
    for_each_evaluated(s, [&](const Expr &e) { refuse(e); });
  }
};

/// Bytes of a bank (CUDA C++ Programming Guide, 5.3.2).
constexpr int64_t bank_bytes = 4;
/// Rows of a tile. Chosen: each of 256 threads copies 16 elements of a tile of f32, 64 of a tile of f16;
/// tiles of 32 still have a line of f32 in each row.
constexpr int64_t most_side = 128, least_side = 32;
/// Elements that a thread copies at once. Chosen: with 2,048 threads, 16 KB of f32 are under way for each
/// multiprocessor, and latency times bandwidth of an H100 is 11 KB.
constexpr uint32_t elements_at_once = 2;

/// Returns the elements from a row of a tile to the next one: a bank more than it has, so that threads that
/// go down a column access different banks.
int64_t pitch_of(const Buf &b, int64_t side) {
  return side + std::max<int64_t>(1, bank_bytes / static_cast<int64_t>(item_size(b->dtype)));
}

}  // namespace

std::vector<Buf> stageable_buffers(const For &outer, const For &inner) {
  std::vector<Buf> out;
  Loads loads(inner.body);
  for (const auto &[buf, index] : loads.read) {
    if (loads.refused.count(buf.get()) || buf->space == Space::registers || buf->space == Space::constant)
      continue;
    int outer_count = 0, inner_count = 0;
    bool fits = true;
    for (const Expr &e : index) {
      bool is_outer = is_iterator(e, outer.iter), is_inner = is_iterator(e, inner.iter);
      outer_count += is_outer, inner_count += is_inner;
      fits = fits && (is_outer || is_inner || (!mentions(e, outer.iter) && !mentions(e, inner.iter)));
    }
    bool strides = !index.empty() && is_iterator(index.back(), outer.iter);
    if (fits && strides && outer_count == 1 && inner_count == 1) out.push_back(buf);
  }
  return out;
}

std::vector<std::pair<Buf, std::vector<Expr>>> staged_loads(const For &inner,
                                                            const std::vector<Buf> &buffers) {
  Loads loads(inner.body);
  std::erase_if(loads.read, [&](const auto &r) {
    return std::find(buffers.begin(), buffers.end(), r.first) == buffers.end();
  });
  return std::move(loads.read);
}

int64_t side_of_tiles(const std::vector<Buf> &buffers) {
  int64_t widest = 0;
  for (const Buf &b : buffers) widest = std::max<int64_t>(widest, item_size(b->dtype));
  auto bytes = [&](int64_t side) {
    int64_t all = exchanged_bytes;
    for (const Buf &b : buffers) all += side * pitch_of(b, side) * static_cast<int64_t>(item_size(b->dtype));
    return all;
  };
  int64_t side = widest < bank_bytes ? most_side : most_side / 2;
  while (side >= least_side && bytes(side) > most_shared_bytes) side /= 2;
  return side >= least_side ? side : 0;
}

Stmt staged_tiles(const For &outer, const For &inner, const std::vector<Buf> &buffers, const Loc &loc) {
  int64_t side = side_of_tiles(buffers);
  TileFrame frame(outer, inner, side, loc);
  for (const auto &[buf, index] : staged_loads(inner, buffers)) frame.add(buf, index, pitch_of(buf, side));
  // threads side by side read what is side by side: the elements along the outer loop
  Stmt copies = frame.each(1, TileFrame::Columns::outer, elements_at_once, [&](const TileSquare &s) {
    std::vector<Stmt> all;
    for (const StagedTile &t : frame.tiles())
      all.push_back(store(t.copy, {kw::ref(s.row), kw::ref(s.column)},
                          frame.source(t, kw::ref(s.outer), kw::ref(s.inner)), loc));
    return seq(std::move(all), loc);
  });
  Stmt iterations = frame.each(1, TileFrame::Columns::inner, 0, [&](const TileSquare &s) {
    return frame.iteration(kw::ref(s.outer), kw::ref(s.inner), {kw::ref(s.column), kw::ref(s.row)});
  });
  return frame.launch({copies, iterations});
}

}  // namespace kw
