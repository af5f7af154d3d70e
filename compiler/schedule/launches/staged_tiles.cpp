// The loops over a tile count its elements, so that no barrier stands between their rows.
#include "schedule/launches/staged_tiles.h"

#include <algorithm>

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

/// Returns the rows of a tile: 32, whose elements of 4 bytes are a line of 128, or 64 of smaller elements.
int64_t side_for(const std::vector<Buf> &buffers) {
  uint32_t widest = 0;
  for (const Buf &b : buffers) widest = std::max(widest, item_size(b->dtype));
  return widest < 4 ? 2 * tile_side : tile_side;
}
/// Returns the elements between two rows of a tile. They are four bytes more than a row, so that the elements
/// of a column lie in different banks, and those of columns side by side in rows side by side as well.
int64_t pitch_for(const Buf &b, int64_t side) {
  return side + std::max<int64_t>(1, 4 / static_cast<int64_t>(item_size(b->dtype)));
}

/// A tile: two loops over at most so many iterations of each as it has rows.
class TileBuilder {
 public:
  TileBuilder(const For &outer, const For &inner, const std::vector<Buf> &buffers, const Loc &loc)
      : outer_(outer), inner_(inner), loc_(loc), loads_(inner.body), side_(side_for(buffers)) {
    for (const Buf &b : buffers) {
      Sym name = make_sym(SymKind::buffer, b->dtype, b->sym->name + "_tile");
      tiles_.push_back({b, make_buf(name, {const_int(side_), const_int(pitch_for(b, side_))}, Space::stack)});
    }
  }

  Stmt run(int64_t teams) {
    std::vector<Stmt> statements{copy_tiles(), run_tile()};
    Stmt out = seq(std::move(statements), loc_);
    for (const Tile &t : tiles_) out = alloc(t.copy, Fill::none, out, loc_);
    out = let(first_j_, first(inner_, tile_j_), out, loc_);
    out = let(first_i_, first(outer_, tile_i_), out, loc_);
    out = grid(inner_, tile_j_, teams, std::move(out));
    return grid(outer_, tile_i_, 1, std::move(out));
  }

 private:
  struct Tile {
    Buf source, copy;
  };
  Expr first(const For &n, const Sym &tile) const { return add(n.lo, mul(kw::ref(tile), const_int(side_))); }

  Stmt grid(const For &n, const Sym &tile, int64_t per_block, Stmt body) const {
    Expr tiles = binary(BinOp::floor_div, add(trips_of(n), const_int(side_ - 1)), const_int(side_));
    For out{tile, const_int(0), tiles, 1, ForKind::grid, Hint::none, {}, std::move(body)};
    out.how.per_block = static_cast<uint32_t>(per_block), out.id = n.id;
    return for_loop(std::move(out), loc_);
  }
  /// for k in block(0, 1024): the elements of a tile, row by row. Threads would access banks twice for two
  /// elements of eight bytes each.
  Stmt each(const Sym &k, Stmt body, LoopId id) const {
    For out{k, const_int(0), const_int(side_ * side_), 1, ForKind::block, Hint::none, {}, std::move(body)};
    out.how.threads = static_cast<uint32_t>(warp_threads), out.how.unroll = shared_loads_at_once, out.id = id;
    if (int64_t vector = team_vector_width(out); vector > 2)
      out.how.vector_width = static_cast<uint32_t>(vector), out.how.unroll = 4;
    return for_loop(std::move(out), loc_);
  }
  Expr row(const Sym &k) const { return binary(BinOp::floor_div, kw::ref(k), const_int(side_)); }
  Expr column(const Sym &k) const { return binary(BinOp::floor_mod, kw::ref(k), const_int(side_)); }
  /// Returns statements for the iterations that exist: tiles at the end are cut short.
  Stmt guarded(const Sym &i, const Sym &j, Stmt body) const {
    Expr inside =
        logic(true, binary(BinOp::lt, kw::ref(i), outer_.hi), binary(BinOp::lt, kw::ref(j), inner_.hi));
    return if_else(inside, std::move(body), {}, loc_);
  }

  /// Threads side by side read what is side by side: the elements along the outer loop.
  Stmt copy_tiles() const {
    Sym k = new_iterator("k"), i = new_local(outer_.iter->name), j = new_local(inner_.iter->name);
    Substitution with;
    with.values[outer_.iter.get()] = kw::ref(i), with.values[inner_.iter.get()] = kw::ref(j);
    std::vector<Stmt> copies;
    for (const Tile &t : tiles_) {
      std::vector<Expr> index = index_of(t.source);
      for (Expr &e : index) e = substituted(e, with);
      copies.push_back(store(t.copy, {row(k), column(k)}, load(t.source, std::move(index)), loc_));
    }
    Stmt body = guarded(i, j, seq(std::move(copies), loc_));
    body = let(j, add(kw::ref(first_j_), row(k)), std::move(body), loc_);
    return each(k, let(i, add(kw::ref(first_i_), column(k)), std::move(body), loc_), outer_.id);
  }
  Stmt run_tile() const {
    Sym k = new_iterator("k"), i = new_local(outer_.iter->name), j = new_local(inner_.iter->name);
    Stmt body = rewrite(inner_.body, [&](const Load &n, const Expr &e) {
      for (const Tile &t : tiles_)
        if (t.source == n.buf) return load(t.copy, {column(k), row(k)}, e.loc());
      return e;
    });
    Substitution with;
    with.values[outer_.iter.get()] = kw::ref(i), with.values[inner_.iter.get()] = kw::ref(j);
    body = guarded(i, j, substituted(body, with));
    body = let(j, add(kw::ref(first_j_), column(k)), std::move(body), loc_);
    return each(k, let(i, add(kw::ref(first_i_), row(k)), std::move(body), loc_), inner_.id);
  }
  const std::vector<Expr> &index_of(const Buf &b) const {
    return std::find_if(loads_.read.begin(), loads_.read.end(), [&](const auto &r) { return r.first == b; })
        ->second;
  }

  const For &outer_, &inner_;
  Loc loc_;
  Loads loads_;
  int64_t side_;
  std::vector<Tile> tiles_;
  Sym tile_i_ = new_iterator(outer_.iter->name + "0"), tile_j_ = new_iterator(inner_.iter->name + "0"),
      first_i_ = new_local("first_" + outer_.iter->name), first_j_ = new_local("first_" + inner_.iter->name);
};

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

Stmt staged_tiles(const For &outer, const For &inner, const std::vector<Buf> &buffers, int64_t teams,
                  const Loc &loc) {
  return TileBuilder(outer, inner, buffers, loc).run(teams);
}

int64_t teams_for_tiles(const std::vector<Buf> &buffers) {
  int64_t bytes = 0, teams = teams_of_block, side = side_for(buffers);
  for (const Buf &b : buffers) bytes += side * pitch_for(b, side) * static_cast<int64_t>(item_size(b->dtype));
  while (teams && teams * bytes > most_shared_bytes) teams /= 2;
  return teams;
}

}  // namespace kw
