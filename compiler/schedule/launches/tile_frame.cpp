// Each tile is a block.
#include "schedule/launches/tile_frame.h"

#include "ir/build.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "schedule/launches/staging.h"
#include "transform/copy.h"

namespace kw {

static Substitution iterators_as(const For &outer, const For &inner, const Expr &i, const Expr &j) {
  Substitution out;
  out.values[outer.iter.get()] = i, out.values[inner.iter.get()] = j;
  return out;
}

TileFrame::TileFrame(const For &outer, const For &inner, int64_t side, const Loc &loc, MostTiles most)
    : outer_(outer),
      inner_(inner),
      side_(side),
      loc_(loc),
      most_(most),
      tile_i_(new_iterator(outer.iter->name + "0")),
      tile_j_(new_iterator(inner.iter->name + "0")),
      first_i_(new_local("first_" + outer.iter->name)),
      first_j_(new_local("first_" + inner.iter->name)) {}

void TileFrame::add(const Buf &b, std::vector<Expr> index, int64_t pitch) {
  Sym name = make_sym(SymKind::buffer, b->dtype, b->sym->name + "_tile");
  Buf copy = make_buf(name, {const_int(side_), const_int(pitch)}, Space::shared);
  tiles_.push_back({b, std::move(copy), std::move(index)});
}

Stmt TileFrame::launch(std::vector<Stmt> statements) const {
  Stmt out = seq(std::move(statements), loc_);
  for (const StagedTile &t : tiles_) out = alloc(t.copy, Fill::none, out, loc_);
  auto first = [&](const For &n, const Sym &tile) {
    return kw::add(n.lo, mul(kw::ref(tile), const_int(side_)));
  };
  out = let(first_j_, first(inner_, tile_j_), out, loc_);
  out = let(first_i_, first(outer_, tile_i_), out, loc_);
  return grid(outer_, tile_i_, most_.outer, grid(inner_, tile_j_, most_.inner, std::move(out)));
}

Stmt TileFrame::grid(const For &n, const Sym &tile, int64_t most_trips, Stmt body) const {
  Expr tiles = binary(BinOp::floor_div, kw::add(trips_of(n), const_int(side_ - 1)), const_int(side_));
  For out{tile, const_int(0), tiles, 1, ForKind::grid, Hint::none, {}, std::move(body)};
  out.how.per_block = 1, out.how.max_trips = most_trips, out.id = n.id;
  return for_loop(std::move(out), loc_);
}

Stmt TileFrame::each(int64_t width, Columns columns, uint32_t unroll,
                     const std::function<Stmt(const TileSquare &)> &body) const {
  bool outer_is_column = columns == Columns::outer;
  const For &of = outer_is_column ? outer_ : inner_;  // what the block loop is called after
  Sym k = new_iterator("k");
  TileSquare s{new_local("row"), new_local("column"), new_local(outer_.iter->name),
               new_local(inner_.iter->name)};
  Expr inside = logic(true, binary(BinOp::lt, kw::ref(s.outer), outer_.hi),
                      binary(BinOp::lt, kw::ref(s.inner), inner_.hi));
  Stmt out = if_else(inside, body(s), {}, loc_);
  auto iteration = [&](const Sym &first, const Sym &place) {
    return kw::add(kw::ref(first), mul(kw::ref(place), const_int(width)));
  };
  out = let(s.inner, iteration(first_j_, outer_is_column ? s.row : s.column), out, loc_);
  out = let(s.outer, iteration(first_i_, outer_is_column ? s.column : s.row), out, loc_);
  int64_t squares = side_ / width;
  out = let(s.column, binary(BinOp::floor_mod, kw::ref(k), const_int(squares)), out, loc_);
  out = let(s.row, binary(BinOp::floor_div, kw::ref(k), const_int(squares)), out, loc_);
  For loop{k, const_int(0), const_int(squares * squares), 1, ForKind::block, Hint::none, {}, std::move(out)};
  loop.how.threads = static_cast<uint32_t>(block_team_threads), loop.how.unroll = unroll, loop.id = of.id;
  return for_loop(std::move(loop), loc_);
}

Expr TileFrame::source(const StagedTile &t, const Expr &outer, const Expr &inner) const {
  Substitution with = iterators_as(outer_, inner_, outer, inner);
  std::vector<Expr> index;
  for (const Expr &e : t.index) index.push_back(substituted(e, with));
  return load(t.source, std::move(index));
}

Stmt TileFrame::iteration(const Expr &outer, const Expr &inner, const std::vector<Expr> &place) const {
  Stmt body = rewrite(inner_.body, [&](const Load &n, const Expr &e) {
    for (const StagedTile &t : tiles_)
      if (t.source == n.buf) return load(t.copy, place, e.loc());
    return e;
  });
  return substituted(body, iterators_as(outer_, inner_, outer, inner));
}

}  // namespace kw
